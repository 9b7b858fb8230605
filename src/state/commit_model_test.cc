// Every interleaving of the commit protocol in small cases: three threads with four operations each on two slots.
//
// The model is the protocol of transaction.cc, one instruction for each access that other threads can notice. Values have two halves, so that a
// read in the middle of a change in place shows; a ghost log holds what was published, and each operation must fit it between
// its beginning and its end. Memory is sequentially consistent: all but the versions that check_fits_snapshot looks at is guarded by locks.
// Each way to break the protocol that is listed in Mutation must be found.
#include <gtest/gtest.h>

#include "tests/suite_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace weft {
namespace {

constexpr int kThreads = 3, kSlots = 2, kNodes = 14, kRegisters = 4, kMaxLog = 13;  // twelve operations publish at most once each

enum class Mutation {
  kNone,
  kReadWithoutLock,            // a read looks at the slot while somebody changes it in place
  kInPlaceThoughHeld,          // ... although somebody holds the value
  kInPlaceIgnoresTurn,         // a lone write does not look whether a call is under way
  kLoneWithoutTurn,            // a lone write that computes outside of the lock does not take the turn
  kSnapshotOneByOne,           // reads of many slots lock one after the other
  kPublishOneByOne,            // so do publications
  kNoCheckOfEarlierReads,      // a transaction's reads may be of different moments
  kNoCheckOfWrites,            // a transaction publishes over what came meanwhile
  kCommitIgnoresTurns,         // ... and in the middle of somebody's call
  kTurnsAfterSnapshot,         // a call takes its snapshot before its turns
  kTurnsOutOfOrder,
  kLocksOutOfOrder,
  kGivesTurnBeforePublishing,
  kNoVersion,                  // an installed value keeps the old version
};
constexpr int kMutations = static_cast<int>(Mutation::kNoVersion) + 1;

enum class Code : std::uint8_t {
  kLock, kUnlock, kTake, kGive, kHandle, kDrop, kLook, kNew, kInstall, kPublish, kPoke, kBump, kIfTurn, kIfHeld, kIfChanged, kGoTo, kCheckOne, kCheckBoth, kEnd
};
struct Instruction {
  Code code;
  std::uint8_t slot = 0, reg = 0, half = 0;
  std::int16_t target = -1;
};
using Program = std::vector<Instruction>;

struct State {
  std::array<std::uint8_t, kThreads> op{}, pc{}, since{};            // since: the ghost log when the operation began
  std::array<std::array<std::uint8_t, kRegisters>, kThreads> held{};  // nodes, plus one
  std::array<std::array<std::uint8_t, kSlots>, kThreads> version{}, looked{};
  std::array<std::array<std::uint8_t, 2>, kNodes> halves{};
  std::array<std::uint8_t, kNodes> count{};
  std::array<std::uint8_t, kSlots> lock{}, turn{}, node{}, slot_version{};  // lock, turn: thread plus one
  std::array<std::array<std::uint8_t, kSlots>, kMaxLog> log{};
  std::uint8_t logged = 1;
};
static_assert(std::has_unique_object_representations_v<State>);

// --- the operations as programs ---

class Builder {
 public:
  explicit Builder(Mutation m) : m_(m) {}
  bool is(Mutation m) const { return m_ == m; }
  Builder& add(Code code, int slot = 0, int reg = 0, int half = 0) {
    p_.push_back({code, static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(reg), static_cast<std::uint8_t>(half)});
    return *this;
  }
  std::size_t jump(Code code, int slot = 0, int reg = 0) { return add(code, slot, reg), p_.size() - 1; }
  void land(std::size_t jump) { p_[jump].target = static_cast<std::int16_t>(p_.size()); }
  void back_to(std::size_t jump, std::size_t place) { p_[jump].target = static_cast<std::int16_t>(place); }
  std::size_t here() const { return p_.size(); }
  Program done() { return add(Code::kEnd), p_; }

 private:
  Mutation m_;
  Program p_;
};

Program read_op(Mutation m, int s) {
  Builder b(m);
  const bool lock = !b.is(Mutation::kReadWithoutLock);
  if (lock) b.add(Code::kLock, s);
  b.add(Code::kHandle, s, 0);
  if (lock) b.add(Code::kUnlock, s);
  return b.add(Code::kLook, s, 0).add(Code::kCheckOne, s).add(Code::kDrop, 0, 0).done();
}

void take_both(Builder& b) {
  if (b.is(Mutation::kSnapshotOneByOne))
    b.add(Code::kLock, 0).add(Code::kHandle, 0, 0).add(Code::kUnlock, 0).add(Code::kLock, 1).add(Code::kHandle, 1, 1).add(Code::kUnlock, 1);
  else b.add(Code::kLock, 0).add(Code::kLock, 1).add(Code::kHandle, 0, 0).add(Code::kHandle, 1, 1).add(Code::kUnlock, 0).add(Code::kUnlock, 1);
}

Program snapshot_op(Mutation m) {
  Builder b(m);
  take_both(b);
  return b.add(Code::kLook, 0, 0).add(Code::kLook, 1, 1).add(Code::kCheckBoth).add(Code::kDrop, 0, 0).add(Code::kDrop, 0, 1).done();
}

// update_in_place, else update.
Program lone_add_op(Mutation m, int s) {
  Builder b(m);
  b.add(Code::kLock, s);
  std::size_t busy = 0, held = 0;
  if (!b.is(Mutation::kInPlaceIgnoresTurn)) busy = b.jump(Code::kIfTurn, s);
  if (!b.is(Mutation::kInPlaceThoughHeld)) held = b.jump(Code::kIfHeld, s);
  b.add(Code::kPoke, s, 0, 0).add(Code::kPoke, s, 0, 1).add(Code::kBump, s).add(Code::kUnlock, s).add(Code::kEnd);
  if (busy != 0) b.land(busy);
  if (held != 0) b.land(held);
  b.add(Code::kUnlock, s);
  const bool turn = !b.is(Mutation::kLoneWithoutTurn);
  if (turn) b.add(Code::kTake, s);
  b.add(Code::kLock, s).add(Code::kHandle, s, 0).add(Code::kUnlock, s).add(Code::kNew, s, 2);
  b.add(Code::kDrop, 0, 0).add(Code::kLock, s).add(Code::kInstall, s, 2).add(Code::kPublish);
  if (turn) b.add(Code::kGive, s);
  return b.add(Code::kUnlock, s).add(Code::kDrop, 0, 2).done();
}

void publish_both(Builder& b) {
  const auto lock_both = [&](int first) { b.add(Code::kLock, first).add(Code::kLock, 1 - first); };
  if (b.is(Mutation::kPublishOneByOne)) {
    b.add(Code::kLock, 0).add(Code::kInstall, 0, 2).add(Code::kUnlock, 0).add(Code::kLock, 1).add(Code::kInstall, 1, 3).add(Code::kPublish).add(Code::kUnlock, 1);
    return;
  }
  lock_both(b.is(Mutation::kLocksOutOfOrder) ? 1 : 0);
  b.add(Code::kInstall, 0, 2).add(Code::kInstall, 1, 3).add(Code::kPublish).add(Code::kUnlock, 0).add(Code::kUnlock, 1);
}

// A WriteTransaction of both slots: in place if nobody holds either value.
Program call_op(Mutation m) {
  Builder b(m);
  const bool late = b.is(Mutation::kTurnsAfterSnapshot);
  const int first = b.is(Mutation::kTurnsOutOfOrder) ? 1 : 0;
  const auto take_turns = [&] { b.add(Code::kTake, first).add(Code::kTake, 1 - first); };
  if (!late) take_turns();
  take_both(b);
  if (late) take_turns();
  b.add(Code::kLook, 0, 0).add(Code::kLook, 1, 1).add(Code::kCheckBoth).add(Code::kNew, 0, 2).add(Code::kNew, 1, 3).add(Code::kDrop, 0, 0).add(Code::kDrop, 0, 1);
  if (b.is(Mutation::kGivesTurnBeforePublishing)) b.add(Code::kGive, 0).add(Code::kGive, 1);
  if (!b.is(Mutation::kPublishOneByOne) && !late && !b.is(Mutation::kGivesTurnBeforePublishing)) {
    b.add(Code::kLock, 0).add(Code::kLock, 1);
    const std::size_t held0 = b.jump(Code::kIfHeld, 0), held1 = b.jump(Code::kIfHeld, 1);
    for (int s = 0; s < kSlots; ++s) b.add(Code::kPoke, s, 0, 0).add(Code::kPoke, s, 0, 1);
    b.add(Code::kBump, 0).add(Code::kBump, 1, 0, 1).add(Code::kUnlock, 0).add(Code::kUnlock, 1).add(Code::kGive, 0).add(Code::kGive, 1);
    b.add(Code::kDrop, 0, 2).add(Code::kDrop, 0, 3).add(Code::kEnd);
    b.land(held0);
    b.land(held1);
    b.add(Code::kUnlock, 0).add(Code::kUnlock, 1);
  }
  publish_both(b);
  if (!b.is(Mutation::kGivesTurnBeforePublishing)) b.add(Code::kGive, 0).add(Code::kGive, 1);
  return b.add(Code::kDrop, 0, 2).add(Code::kDrop, 0, 3).done();
}

// atomically { a += 1; b += 1; }: reads as it goes, checks and publishes in the end, runs again after a conflict.
Program block_op(Mutation m) {
  Builder b(m);
  b.add(Code::kLock, 0).add(Code::kHandle, 0, 0).add(Code::kUnlock, 0).add(Code::kLock, 1).add(Code::kHandle, 1, 1).add(Code::kUnlock, 1);
  std::size_t unfit = 0;
  if (!b.is(Mutation::kNoCheckOfEarlierReads)) unfit = b.jump(Code::kIfChanged, 0);
  b.add(Code::kLook, 0, 0).add(Code::kLook, 1, 1).add(Code::kCheckBoth).add(Code::kNew, 0, 2).add(Code::kNew, 1, 3);
  std::size_t busy[2] = {}, changed[2][2] = {};
  const auto check = [&](int way) {
    if (!b.is(Mutation::kNoCheckOfWrites))
      for (int s = 0; s < kSlots; ++s) changed[way][s] = b.jump(Code::kIfChanged, s);
  };
  const auto install = [&] { b.add(Code::kInstall, 0, 2).add(Code::kInstall, 1, 3).add(Code::kPublish).add(Code::kUnlock, 0).add(Code::kUnlock, 1); };
  const auto drop = [&] { for (int r = 0; r < kRegisters; ++r) b.add(Code::kDrop, 0, r); };
  b.add(Code::kLock, 0).add(Code::kLock, 1);
  if (!b.is(Mutation::kCommitIgnoresTurns))
    for (int s = 0; s < kSlots; ++s) busy[s] = b.jump(Code::kIfTurn, s);
  check(0);
  install();
  drop();
  b.add(Code::kEnd);
  if (busy[0] != 0) {  // with the turns
    b.land(busy[0]);
    b.land(busy[1]);
    b.add(Code::kUnlock, 0).add(Code::kUnlock, 1).add(Code::kTake, 0).add(Code::kTake, 1).add(Code::kLock, 0).add(Code::kLock, 1);
    check(1);
    install();
    b.add(Code::kGive, 0).add(Code::kGive, 1);
    drop();
    b.add(Code::kEnd);
  }
  for (int way = 0; way < 2; ++way) {
    if (changed[way][0] == 0) continue;
    b.land(changed[way][0]);
    b.land(changed[way][1]);
    b.add(Code::kUnlock, 0).add(Code::kUnlock, 1);
    if (way == 1) b.add(Code::kGive, 0).add(Code::kGive, 1);
    drop();
    b.back_to(b.jump(Code::kGoTo), 0);
  }
  if (unfit != 0) {
    b.land(unfit);
    drop();
    b.back_to(b.jump(Code::kGoTo), 0);
  }
  return b.done();
}

// --- the explorer ---

enum Op { kRead0, kRead1, kSnapshot, kAdd0, kAdd1, kCall, kBlock, kOps };
using Plan = std::array<std::array<Op, 4>, kThreads>;

// Which instructions nobody else can notice the moment of, so that they go with the one before.
bool goes_along(Code code) {
  return code == Code::kUnlock || code == Code::kNew || code == Code::kPublish || code == Code::kBump || code == Code::kGoTo || code == Code::kCheckOne ||
         code == Code::kCheckBoth || code == Code::kEnd;
}

// The states that have been met, by a hash of 64 bits each: among some millions two that are alike are not to be expected.
class Seen {
 public:
  bool insert(std::uint64_t hash) {
    if (count_ * 2 >= table_.size()) grow();
    std::uint64_t& place = find(hash);
    if (place == hash) return false;
    place = hash;
    return ++count_, true;
  }
  std::size_t size() const { return count_; }

 private:
  std::uint64_t& find(std::uint64_t hash) {
    std::size_t at = hash & (table_.size() - 1);
    while (table_[at] != 0 && table_[at] != hash) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }
  void grow() {
    std::vector<std::uint64_t> old(table_.empty() ? 1 << 16 : table_.size() * 4);
    old.swap(table_);
    for (std::uint64_t hash : old)
      if (hash != 0) find(hash) = hash;
  }
  std::vector<std::uint64_t> table_;
  std::size_t count_ = 0;
};

class Explorer {
 public:
  Explorer(const Plan& plan, Mutation m) : plan_(plan), m_(m) {
    for (int s = 0; s < kSlots; ++s) programs_[kRead0 + s] = read_op(m, s), programs_[kAdd0 + s] = lone_add_op(m, s);
    programs_[kSnapshot] = snapshot_op(m);
    programs_[kCall] = call_op(m);
    programs_[kBlock] = block_op(m);
    for (const auto& ops : plan)
      for (Op op : ops)
        for (int s = 0; s < kSlots; ++s) wanted_[s] += op == kAdd0 + s || op == kCall || op == kBlock;
  }

  /// What is wrong with the protocol; nothing if every interleaving is right.
  std::string run() {
    State first;
    for (std::uint8_t s = 0; s < kSlots; ++s) first.node[s] = s, first.count[s] = 1;
    std::vector<State> open{first};
    while (!open.empty() && wrong_.empty()) {
      const State state = open.back();
      open.pop_back();
      if (!seen_.insert(fingerprint(state))) continue;
      bool moved = false, left = false;
      for (int t = 0; t < kThreads && wrong_.empty(); ++t) {
        if (state.op[t] >= 4) continue;
        left = true;
        State next = state;
        if (!step(next, t)) continue;
        moved = true;
        while (wrong_.empty() && next.op[t] < 4 && next.pc[t] != 0 && goes_along(instruction(next, t).code)) step(next, t);
        open.push_back(next);
      }
      if (left && !moved && wrong_.empty()) wrong_ = "deadlock";
      if (!left) check_end(state);
    }
    return wrong_;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  // What matters of a state: nodes by who refers to them, versions by whether they are still the same, the log since the oldest operation began.
  static State canonical(const State& s) {
    State c;
    c.op = s.op, c.pc = s.pc, c.lock = s.lock, c.turn = s.turn, c.looked = s.looked;
    std::array<std::uint8_t, kNodes> name{};
    std::uint8_t names = 0;
    const auto rename = [&](std::uint8_t node) {
      if (name[node] == 0) {
        c.halves[names] = s.halves[node], c.count[names] = s.count[node];
        name[node] = ++names;
      }
      return name[node];
    };
    for (int slot = 0; slot < kSlots; ++slot) c.node[slot] = rename(s.node[slot]);
    std::uint8_t oldest = static_cast<std::uint8_t>(s.logged - 1);
    for (int t = 0; t < kThreads; ++t) {
      for (int r = 0; r < kRegisters; ++r)
        if (s.held[t][r] != 0) c.held[t][r] = rename(static_cast<std::uint8_t>(s.held[t][r] - 1));
      for (int slot = 0; slot < kSlots; ++slot) c.version[t][slot] = s.held[t][slot] != 0 && s.version[t][slot] != s.slot_version[slot];
      if (s.pc[t] != 0) oldest = std::min(oldest, s.since[t]);
    }
    for (int t = 0; t < kThreads; ++t) c.since[t] = s.pc[t] != 0 ? static_cast<std::uint8_t>(s.since[t] - oldest) : 0;
    for (int moment = oldest; moment < s.logged; ++moment) c.log[moment - oldest] = s.log[moment];
    c.logged = static_cast<std::uint8_t>(s.logged - oldest);
    return c;
  }
  static std::uint64_t fingerprint(const State& s) {
    const State state = canonical(s);
    std::uint64_t words[(sizeof(State) + 7) / 8] = {};
    std::memcpy(words, &state, sizeof state);
    std::uint64_t h = 0x9e3779b97f4a7c15ull;
    for (std::uint64_t w : words) h = (h ^ w) * 0xff51afd7ed558ccdull, h ^= h >> 32;
    return h | 1;
  }
  const Instruction& instruction(const State& s, int t) const { return programs_[plan_[t][s.op[t]]][s.pc[t]]; }

  static void release(State& s, std::uint8_t node) {
    if (--s.count[node] == 0) s.halves[node] = {};
  }

  // Performs the next instruction of thread t; false if it has to wait.
  bool step(State& s, int t) {
    const Instruction& at = instruction(s, t);
    const auto me = static_cast<std::uint8_t>(t + 1);
    if (s.pc[t] == 0) s.since[t] = static_cast<std::uint8_t>(s.logged - 1);
    std::uint8_t& reg = s.held[t][at.reg];
    bool jump = false;
    switch (at.code) {
      case Code::kLock:
        if (s.lock[at.slot] != 0) return false;
        s.lock[at.slot] = me;
        break;
      case Code::kUnlock: s.lock[at.slot] = 0; break;
      case Code::kTake:
        if (s.turn[at.slot] != 0 || s.lock[at.slot] != 0) return false;
        s.turn[at.slot] = me;
        break;
      case Code::kGive:
        if (s.lock[at.slot] != 0 && s.lock[at.slot] != me) return false;
        s.turn[at.slot] = 0;
        break;
      case Code::kHandle:
        reg = static_cast<std::uint8_t>(s.node[at.slot] + 1);
        ++s.count[s.node[at.slot]];
        s.version[t][at.slot] = s.slot_version[at.slot];
        break;
      case Code::kDrop:
        if (reg != 0) release(s, static_cast<std::uint8_t>(reg - 1));
        reg = 0;
        break;
      case Code::kLook: {
        const auto& halves = s.halves[reg - 1];
        if (halves[0] != halves[1]) wrong_ = "a read saw half of a change";
        s.looked[t][at.slot] = halves[0];
        break;
      }
      case Code::kNew: {  // from what was read of the slot
        std::uint8_t fresh = 0;
        while (s.count[fresh] != 0) ++fresh;
        s.count[fresh] = 1;
        const auto value = static_cast<std::uint8_t>(s.halves[s.held[t][at.reg - 2 == at.slot ? at.slot : 0] - 1][0] + 1);
        s.halves[fresh] = {value, value};
        reg = static_cast<std::uint8_t>(fresh + 1);
        break;
      }
      case Code::kInstall: {
        const std::uint8_t old = s.node[at.slot];
        s.node[at.slot] = static_cast<std::uint8_t>(reg - 1);
        reg = static_cast<std::uint8_t>(old + 1);
        if (m_ != Mutation::kNoVersion) ++s.slot_version[at.slot];
        break;
      }
      case Code::kPublish: publish(s); break;
      case Code::kPoke: ++s.halves[s.node[at.slot]][at.half]; break;
      case Code::kBump:
        if (m_ != Mutation::kNoVersion) ++s.slot_version[at.slot];
        if (at.half == 1 || instruction_after(s, t).code != Code::kBump) publish(s);
        break;
      case Code::kIfTurn: jump = s.turn[at.slot] != 0; break;
      case Code::kIfHeld: jump = s.count[s.node[at.slot]] != 1; break;
      case Code::kIfChanged: jump = s.slot_version[at.slot] != s.version[t][at.slot]; break;
      case Code::kGoTo: jump = true; break;
      case Code::kCheckOne: check(s, t, at.slot, at.slot); break;
      case Code::kCheckBoth: check(s, t, 0, kSlots - 1); break;
      case Code::kEnd:
        s.looked[t] = {};
        s.version[t] = {};
        ++s.op[t];
        s.pc[t] = 0;
        return true;
    }
    s.pc[t] = static_cast<std::uint8_t>(jump ? at.target : s.pc[t] + 1);
    if (s.pc[t] == 0 && jump) s.version[t] = s.looked[t] = {};
    return true;
  }
  const Instruction& instruction_after(const State& s, int t) const { return programs_[plan_[t][s.op[t]]][s.pc[t] + 1u]; }

  void publish(State& s) {
    for (int slot = 0; slot < kSlots; ++slot) s.log[s.logged][slot] = s.halves[s.node[slot]][0];
    ++s.logged;
  }

  // What was read must have been there, all of it at one moment, since the operation began.
  void check(const State& s, int t, int from, int to) {
    for (int moment = s.since[t]; moment < s.logged; ++moment) {
      bool same = true;
      for (int slot = from; slot <= to; ++slot) same = same && s.log[moment][slot] == s.looked[t][slot];
      if (same) return;
    }
    if (wrong_.empty()) wrong_ = from == to ? "a read saw a value that was never there" : "a snapshot mixed two moments";
  }

  void check_end(const State& s) {
    for (int slot = 0; slot < kSlots; ++slot) {
      if (s.halves[s.node[slot]][0] != wanted_[slot]) wrong_ = "an update was lost";
      if (s.count[s.node[slot]] != 1 || s.lock[slot] != 0 || s.turn[slot] != 0) wrong_ = "something was left behind";
    }
  }

  Plan plan_;
  Mutation m_;
  std::array<Program, kOps> programs_;
  std::array<int, kSlots> wanted_{};
  Seen seen_;
  std::string wrong_;
};

const Plan kPlans[] = {
    {{{kAdd0, kRead0, kAdd0, kRead0}, {kAdd0, kAdd0, kRead0, kRead0}, {kRead0, kAdd0, kRead0, kAdd0}}},
    {{{kCall, kRead0, kAdd1, kSnapshot}, {kAdd0, kSnapshot, kRead1, kAdd0}, {kSnapshot, kAdd1, kRead0, kSnapshot}}},
    {{{kBlock, kAdd0, kRead1, kBlock}, {kAdd0, kSnapshot, kAdd1, kRead0}, {kCall, kRead0, kRead1, kAdd1}}},
    {{{kBlock, kSnapshot, kRead0, kBlock}, {kBlock, kRead1, kAdd1, kSnapshot}, {kAdd0, kSnapshot, kCall, kRead0}}},
    {{{kCall, kAdd0, kCall, kRead0}, {kCall, kAdd1, kSnapshot, kCall}, {kBlock, kRead0, kRead1, kAdd0}}},
};

TEST(CommitModel, HoldsInEveryInterleaving) {
  std::size_t states = 0;
  const std::span<const Plan> plans = kPlans;
  for (const Plan& plan : test::small_scale() ? plans.first(2) : plans) {
    Explorer explorer(plan, Mutation::kNone);
    EXPECT_EQ(explorer.run(), "");
    EXPECT_GT(explorer.states(), 10000u);
    states += explorer.states();
  }
  RecordProperty("states", static_cast<int>(states));
}

TEST(CommitModel, FindsEveryMutation) {
  for (int m = 1; m < kMutations; ++m) {
    std::string found;
    for (const Plan& plan : kPlans)
      if (found.empty()) found = Explorer(plan, static_cast<Mutation>(m)).run();
    EXPECT_NE(found, "") << "mutation " << m;
  }
}

}  // namespace
}  // namespace weft
