// Every interleaving of the commit protocol in small cases: three threads with four operations each on two slots.
//
// The model (tests/commit_model.h) is the protocol of transaction.cc. Values have two halves, so that a
// read in the middle of a change in place shows; a ghost log holds what was published, and each operation must fit it between
// its beginning and its end. Memory is sequentially consistent: all but the versions that check_fits_snapshot looks at is guarded by locks.
// Each way to break the protocol that is listed in Mutation must be found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "tests/commit_model.h"
#include "tests/suite_rows.h"

namespace weft::model {
namespace {

// --- the explorer ---

enum Op { kRead0, kRead1, kSnapshot, kAdd0, kAdd1, kCall, kBlock, kOps };
using Plan = std::array<std::array<Op, 4>, kThreads>;

// Which instructions nobody else can notice the moment of, so that they go with the one before.
bool goes_along(Code code) {
  return code == Code::kUnlock || code == Code::kNew || code == Code::kPublish || code == Code::kBump || code == Code::kGoTo ||
         code == Code::kCheckOne || code == Code::kCheckBoth || code == Code::kEnd;
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
  // What matters of a state: nodes by who refers to them, versions by whether they are still the same, the log since the
  // oldest operation began.
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
}  // namespace weft::model
