// The commit protocol as programs of a small machine, for commit_model_test.cc: one instruction for each access that other threads can
// notice.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weft::model {

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
  kLock, kUnlock, kTake, kGive, kHandle, kDrop, kLook, kNew, kInstall, kPublish, kPoke, kBump, kIfTurn, kIfHeld, kIfChanged, kGoTo,
  kCheckOne, kCheckBoth, kEnd
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

inline Program read_op(Mutation m, int s) {
  Builder b(m);
  const bool lock = !b.is(Mutation::kReadWithoutLock);
  if (lock) b.add(Code::kLock, s);
  b.add(Code::kHandle, s, 0);
  if (lock) b.add(Code::kUnlock, s);
  return b.add(Code::kLook, s, 0).add(Code::kCheckOne, s).add(Code::kDrop, 0, 0).done();
}

inline void take_both(Builder& b) {
  if (b.is(Mutation::kSnapshotOneByOne))
    b.add(Code::kLock, 0).add(Code::kHandle, 0, 0).add(Code::kUnlock, 0).add(Code::kLock, 1).add(Code::kHandle, 1, 1).add(Code::kUnlock, 1);
  else
    b.add(Code::kLock, 0).add(Code::kLock, 1).add(Code::kHandle, 0, 0).add(Code::kHandle, 1, 1).add(Code::kUnlock, 0).add(Code::kUnlock, 1);
}

inline Program snapshot_op(Mutation m) {
  Builder b(m);
  take_both(b);
  return b.add(Code::kLook, 0, 0).add(Code::kLook, 1, 1).add(Code::kCheckBoth).add(Code::kDrop, 0, 0).add(Code::kDrop, 0, 1).done();
}

// update_in_place, else update.
inline Program lone_add_op(Mutation m, int s) {
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

inline void publish_both(Builder& b) {
  const auto lock_both = [&](int first) { b.add(Code::kLock, first).add(Code::kLock, 1 - first); };
  if (b.is(Mutation::kPublishOneByOne)) {
    b.add(Code::kLock, 0).add(Code::kInstall, 0, 2).add(Code::kUnlock, 0);
    b.add(Code::kLock, 1).add(Code::kInstall, 1, 3).add(Code::kPublish).add(Code::kUnlock, 1);
    return;
  }
  lock_both(b.is(Mutation::kLocksOutOfOrder) ? 1 : 0);
  b.add(Code::kInstall, 0, 2).add(Code::kInstall, 1, 3).add(Code::kPublish).add(Code::kUnlock, 0).add(Code::kUnlock, 1);
}

// A WriteTransaction of both slots: in place if nobody holds either value.
inline Program call_op(Mutation m) {
  Builder b(m);
  const bool late = b.is(Mutation::kTurnsAfterSnapshot);
  const int first = b.is(Mutation::kTurnsOutOfOrder) ? 1 : 0;
  const auto take_turns = [&] { b.add(Code::kTake, first).add(Code::kTake, 1 - first); };
  if (!late) take_turns();
  take_both(b);
  if (late) take_turns();
  b.add(Code::kLook, 0, 0).add(Code::kLook, 1, 1).add(Code::kCheckBoth);
  b.add(Code::kNew, 0, 2).add(Code::kNew, 1, 3).add(Code::kDrop, 0, 0).add(Code::kDrop, 0, 1);
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
inline Program block_op(Mutation m) {
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
  const auto install = [&] {
    b.add(Code::kInstall, 0, 2).add(Code::kInstall, 1, 3).add(Code::kPublish).add(Code::kUnlock, 0).add(Code::kUnlock, 1);
  };
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

}  // namespace weft::model
