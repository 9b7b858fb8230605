// Histories of real threads: what they did and saw, with the order of beginnings and ends, must be explained by operations that happen
// one after the other, each at a moment between its beginning and its end.
//
// A read, a snapshot, a lone write, a call that takes its turns first and a block that writes all it reads (or validates its reads)
// happen at one moment. A block that reads more than it writes has two: its snapshot, and its publication, between which nobody writes
// what it writes.
//
// 1,000 histories of 8 threads x 200 operations; WEFT_TEST_SCALE=small makes 20.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <set>
#include <thread>

#include "state/transaction.h"
#include "tests/suite_rows.h"
#include <weft/ops.h>

namespace weft {
namespace {

constexpr int kThreads = 8, kOperations = 200, kVariables = 3;
constexpr std::int64_t kLengths[kVariables] = {1, 8, 200};
using Values = std::array<std::int64_t, kVariables>;

struct Operation {
  enum Kind : std::uint8_t { kRead, kReadAll, kAssign, kAdd, kExchange, kSkew } kind = kRead;
  std::uint8_t at = 0, other = 0;     // kRead, kAssign, kAdd: at. kExchange: writes both. kSkew: reads both, writes `other`
  std::int64_t begun = 0, ended = 0;
  Values read{}, written{};           // of the Variables concerned
};

// --- the checker ---

struct Configuration {
  Values state{};
  std::array<std::uint8_t, kThreads> phase{};  // of the pending operation: moments that have passed
  auto operator<=>(const Configuration&) const = default;
};

int moments(const Operation& op) { return op.kind == Operation::kSkew ? 2 : 1; }

// The next moment of an operation; false if it cannot be now.
bool happens(const Operation& op, int phase, Values& state) {
  const auto a = op.at, b = op.other;
  switch (op.kind) {
    case Operation::kRead: return state[a] == op.read[a];
    case Operation::kReadAll: return state == op.read;
    case Operation::kAssign: return state[a] = op.written[a], true;
    case Operation::kAdd: return state[a] += op.written[a], true;
    case Operation::kExchange:
      if (state[a] != op.read[a] || state[b] != op.read[b]) return false;
      state[a] = op.written[a];
      state[b] = op.written[b];
      return true;
    case Operation::kSkew:
      if (state[b] != op.read[b] || (phase == 0 && state[a] != op.read[a])) return false;
      if (phase == 1) state[b] = op.written[b];
      return true;
  }
  return false;
}

using History = std::array<std::vector<Operation>, kThreads>;

/// "" if some order explains the history.
std::string explain(const History& history, const Values& first) {
  struct Event {
    std::int64_t when;
    int thread;
    const Operation* op;
    bool end;
  };
  std::vector<Event> events;
  for (int t = 0; t < kThreads; ++t)
    for (const Operation& op : history[static_cast<std::size_t>(t)]) {
      events.push_back({op.begun, t, &op, false});
      events.push_back({op.ended, t, &op, true});
    }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.when < b.when; });
  std::array<const Operation*, kThreads> pending{};
  std::vector<Configuration> now{{first, {}}};
  for (const Event& event : events) {
    const auto ending = static_cast<std::size_t>(event.thread);
    if (!event.end) {
      pending[ending] = event.op;
      continue;
    }
    // Everything that may have happened before this end, until the ending operation has.
    std::set<Configuration> met(now.begin(), now.end());
    std::vector<Configuration> open = std::move(now), done;
    while (!open.empty()) {
      Configuration c = open.back();
      open.pop_back();
      if (c.phase[ending] == moments(*event.op)) {
        c.phase[ending] = 0;
        done.push_back(c);
        continue;
      }
      for (std::size_t t = 0; t < kThreads; ++t) {
        if (pending[t] == nullptr || c.phase[t] == moments(*pending[t])) continue;
        Configuration next = c;
        if (!happens(*pending[t], c.phase[t], next.state)) continue;
        ++next.phase[t];
        if (met.insert(next).second) open.push_back(next);
      }
    }
    pending[ending] = nullptr;
    if (done.empty()) return "operation " + std::to_string(event.op - history[ending].data()) + " of thread " + std::to_string(ending) +
        " fits no order";
    std::sort(done.begin(), done.end());
    done.erase(std::unique(done.begin(), done.end()), done.end());
    now = std::move(done);
  }
  return "";
}

// --- the threads ---

std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Values are vectors of one number, so that a torn one shows.
Tensor uniform(int variable, std::int64_t number) { return fill({kLengths[variable]}, Tensor(number, i64)); }
std::int64_t number_in(const Tensor& x) {
  const std::int64_t* data = x.data<std::int64_t>();
  for (std::int64_t i = 1, size = x.size(); i < size; ++i)
    if (data[i] != data[0]) return -1;
  return data[0];
}

class Recorder {
 public:
  Recorder() {
    for (int v = 0; v < kVariables; ++v) variables_.emplace_back(uniform(v, v));
    for (const Variable& v : variables_) slots_.push_back(v.slot());
  }

  History record(std::uint64_t seed) {
    History history;
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        for (int i = 0; i < kOperations; ++i) {
          const std::uint64_t dice = scrambled(seed * 1000003 + static_cast<std::uint64_t>(t * kOperations + i));
          history[static_cast<std::size_t>(t)].push_back(perform(dice));
          if (dice >> 60 == 0) std::this_thread::yield();
        }
      });
    for (std::thread& thread : threads) thread.join();
    return history;
  }

  Values values() const {
    Values result{};
    for (std::size_t v = 0; v < kVariables; ++v) result[v] = number_in(variables_[v]);
    return result;
  }

 private:
  Operation perform(std::uint64_t dice) {
    Operation op;
    op.at = static_cast<std::uint8_t>(dice % kVariables);
    op.other = static_cast<std::uint8_t>((op.at + 1 + dice / 8 % (kVariables - 1)) % kVariables);
    const std::size_t a = op.at, b = op.other;
    op.written[a] = static_cast<std::int64_t>(scrambled(dice) >> 8);
    op.written[b] = static_cast<std::int64_t>(scrambled(dice + 1) >> 8);
    const bool pause = dice >> 59 == 1;  // in the middle of a block
    const auto fresh_a = uniform(op.at, op.written[a]), fresh_b = uniform(op.other, op.written[b]);
    Variable &va = variables_[a], &vb = variables_[b];
    const auto read_both = [&] {
      op.read[a] = number_in(va);
      if (pause) std::this_thread::yield();
      op.read[b] = number_in(vb);
    };
    op.begun = clock_.fetch_add(1);
    switch (dice / 64 % 11) {
      case 0:
      case 1:
      case 2:
        op.kind = Operation::kRead;
        op.read[a] = number_in(dice & 32 ? va.value() : va.read_latest());
        break;
      case 3: {
        op.kind = Operation::kReadAll;
        Tensor all[kVariables];
        read_together(slots_, all);
        for (std::size_t v = 0; v < kVariables; ++v) op.read[v] = number_in(all[v]);
        break;
      }
      case 4:
        op.kind = Operation::kAssign;
        va.assign(fresh_a);
        break;
      case 5:
      case 6:
        op.kind = Operation::kAdd;
        if (dice & 32) va.assign_add(fresh_a);
        else op.written[a] = -op.written[a], va.assign_sub(fresh_a);
        break;
      case 7:
      case 8: {
        op.kind = Operation::kExchange;
        atomically([&] {
          read_both();
          va.assign(fresh_a);
          vb.assign(fresh_b);
        });
        break;
      }
      case 9: {
        op.kind = Operation::kExchange;
        const SlotRef writes[] = {va.slot(), vb.slot()};
        WriteTransaction call(writes, {}, Location::here(), "call");
        op.read[a] = number_in(call.value(0));
        op.read[b] = number_in(call.value(1));
        if (pause) std::this_thread::yield();
        if (dice & 32) {
          call.value(0) = fresh_a;
          call.value(1) = fresh_b;
          call.publish();
        } else {
          call.publish_in_place([&](std::span<const WriteTransaction::Place> places) {
            std::fill_n(static_cast<std::int64_t*>(places[0].to), kLengths[a], op.written[a]);
            std::fill_n(static_cast<std::int64_t*>(places[1].to), kLengths[b], op.written[b]);
          });
        }
        break;
      }
      default: {
        const bool validated = (dice & 32) != 0;
        op.kind = validated ? Operation::kExchange : Operation::kSkew;
        atomically([&] {
          read_both();
          vb.assign(fresh_b);
        }, {.validate_reads = validated});
        if (validated) op.written[a] = op.read[a];
        break;
      }
    }
    op.ended = clock_.fetch_add(1);
    return op;
  }

  std::atomic<std::int64_t> clock_{0};
  std::vector<Variable> variables_;
  std::vector<SlotRef> slots_;
};

TEST(Histories, AreExplainedByAnOrder) {
  const int count = test::small_scale() ? 20 : 1000;
  Recorder recorder;
  for (int i = 0; i < count; ++i) {
    const Values first = recorder.values();
    const History history = recorder.record(static_cast<std::uint64_t>(i));
    ASSERT_EQ(explain(history, first), "") << "history " << i;
  }
}

// The checker itself: a stale read, a lost write, half of a snapshot.
TEST(Histories, ThatAreWrongAreFound) {
  Recorder recorder;
  const Values first = recorder.values();
  const History right = recorder.record(4711);
  ASSERT_EQ(explain(right, first), "");
  int tried = 0, found = 0;
  for (std::size_t t = 0; t < kThreads; ++t)
    for (std::size_t i = 1; i < right[t].size(); i += 7) {
      const Operation& op = right[t][i];
      if (op.kind == Operation::kAssign || op.kind == Operation::kAdd) continue;
      History wrong = right;
      const std::size_t v = op.kind == Operation::kReadAll ? 1 : op.kind == Operation::kSkew ? op.other : op.at;
      if (op.read[v] == first[v]) continue;
      wrong[t][i].read[v] = first[v];  // long gone
      ++tried;
      found += explain(wrong, first) != "";
    }
  EXPECT_GT(tried, 20);
  EXPECT_EQ(found, tried);
}

}  // namespace
}  // namespace weft
