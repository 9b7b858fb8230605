// In which order the steps of a plan run, and which of them side by side.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "graph/plan.h"

namespace weft::inline v0 {
namespace {

// In nanoseconds. Below kShort a step is over before another thread has heard of it; above kLong its kernel uses all threads better than a
// neighbour would. So many together are worth waking the pool for.
constexpr double kShort = 300, kLong = 40'000, kWorth = 4'000;
constexpr double kLargestShare = 0.7;          // of the time of a turn, for its longest step: the others would wait for it
constexpr std::uint32_t kMostBeside = 64;
constexpr std::uint32_t kWindow = 256;         // a step moves forward past so many others at most: what it makes has to lie somewhere meanwhile
constexpr std::int64_t kGuess = 256;           // for a size that values decide
constexpr double kMoreAlive = 1.25;            // times the memory of the plan as written: more than that and it stays so
constexpr double kBytes = 8, kProducts = 50;   // that one thread moves, and adds up, in a nanosecond

double elements(const Spec& spec) {
  double count = 1;
  for (const std::int64_t size : spec.shape.sizes()) count *= static_cast<double>(size == kUnknown ? kGuess : size);
  return count;
}
double bytes(const Spec& spec) { return elements(spec) * static_cast<double>(size_of(spec.dtype)); }

bool has_graphs(const GraphNode& node) {
  return std::any_of(node.attrs.begin(), node.attrs.end(), [](const Attr& attr) { return std::holds_alternative<std::shared_ptr<const Region>>(attr); });
}

// The lowest number first.
using Ready = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;

}  // namespace

// A guess at what a step takes on one thread: the bytes that it moves, and the products that it adds up if it may be a contraction, of which
// there are sqrt(|a| |b| |c|) in c = a b.
double Plan::nanoseconds(const Step& step) const {
  double total = 0;
  for (const std::uint32_t n : step.nodes) {
    const GraphNode& node = graph_.nodes[n];
    const auto spec = [&](ValueId id) -> const Spec& { return values_[id].spec; };
    if (has_graphs(node)) return std::numeric_limits<double>::infinity();
    double made = 0, moved = 0;
    for (std::uint32_t i = 0; i < node.count; ++i) made += bytes(spec(node.first + i));
    const bool few = node.op->is(kChanges);  // of the first input only those places are touched which the others name
    for (std::size_t i = few; i < node.inputs.size(); ++i)
      moved += node.op->is(kMoves) && !few ? std::min(made, bytes(spec(node.inputs[i]))) : bytes(spec(node.inputs[i]));
    total += (moved + (few ? 0 : made)) / kBytes;
    if (!node.op->tile && !node.op->is(kMoves) && node.inputs.size() > 1 && is_floating(spec(node.inputs[0]).dtype) && is_floating(spec(node.inputs[1]).dtype))
      total += std::sqrt(elements(spec(node.inputs[0])) * elements(spec(node.inputs[1])) * elements(spec(node.first))) / kProducts;
  }
  return total;
}

std::vector<Plan::Turn> Plan::turns_of_steps() const {
  std::vector<Turn> turns(1);
  while (turns.size() <= steps_.size()) {
    const auto first = static_cast<std::uint32_t>(turns.size());
    turns.insert(turns.end(), steps_[first - 1].beside, {first, first + steps_[first - 1].beside - 1});
  }
  return turns;
}

// The most that is alive at a time of what steps make and does not leave, as far as its size is known.
double Plan::bytes_alive() const {
  std::vector<bool> leaves(values_.size());
  for (const ValueId id : graph_.outputs) leaves[values_[id].root] = true;
  std::vector<double> change(steps_.size() + 2);
  const std::vector<Turn> turns = turns_of_steps();
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const Value& value = values_[v];
    if (value.made == 0 || value.root != v || leaves[v] || !value.spec.shape.known()) continue;
    change[turns[value.made].first] += bytes(value.spec);
    change[turns[value.last].last + 1] -= bytes(value.spec);
  }
  double alive = 0, most = 0;
  for (const double by : change) most = std::max(most, alive += by);
  return most;
}

// As they are written, as far as that goes; but steps that take no time come as soon as they can, so that more of the others are ready together.
void Plan::order_steps() {
  const std::size_t count = steps_.size() - late_.size();
  for (std::uint32_t s = 0; s < steps_.size(); ++s) steps_[s].written = s;
  if (!graph_.overlaps) return;
  double late = 0, longest = 0;
  for (std::size_t s = count; s < steps_.size(); ++s) {
    const double took = nanoseconds(steps_[s]);
    late += took, longest = std::max(longest, took);
  }
  if (late >= kWorth && longest <= std::min(kLong, kLargestShare * late)) steps_[count].beside = static_cast<std::uint32_t>(late_.size());

  std::vector<double> took(count);
  std::size_t some = 0;
  for (std::size_t s = 0; s < count; ++s) {
    took[s] = steps_[s].checks ? 0 : nanoseconds(steps_[s]);
    some += took[s] >= kShort && took[s] <= kLong;
  }
  if (some < 2) return;
  std::vector<std::uint32_t> waits(count);  // for so many others, each as often as it reads what they make
  std::vector<std::vector<std::uint32_t>> followers(count);
  for (std::uint32_t s = 0; s < count; ++s)
    for (const std::uint32_t n : steps_[s].nodes)
      for (const ValueId id : graph_.nodes[n].inputs)
        if (const std::uint32_t made = values_[values_[id].root].made; made != 0 && made != s + 1 && reads(n, id)) ++waits[s], followers[made - 1].push_back(s);

  Ready tiny, brief, other;
  const auto is_ready = [&](std::uint32_t s) { (took[s] < kShort ? tiny : took[s] <= kLong ? brief : other).push(s); };
  for (std::uint32_t s = 0; s < count; ++s)
    if (waits[s] == 0) is_ready(s);
  std::vector<std::uint32_t> order, turn;
  std::vector<std::uint32_t> beside(count, 1);  // by the place in the order
  const auto take = [&](Ready& from) {
    const std::uint32_t s = from.top();
    from.pop();
    return s;
  };
  const auto run = [&](std::uint32_t s) {
    order.push_back(s);
    for (const std::uint32_t follower : followers[s])
      if (--waits[follower] == 0) is_ready(follower);
  };
  bool any = false;
  while (order.size() < count) {
    if (!tiny.empty()) {
      run(take(tiny));
      continue;
    }
    if (brief.empty() || (!other.empty() && other.top() < brief.top())) {
      run(take(other));
      continue;
    }
    turn.clear();
    double total = 0, most = 0;
    while (!brief.empty() && turn.size() < kMostBeside && (turn.empty() || brief.top() <= turn[0] + kWindow)) {
      turn.push_back(take(brief));
      total += took[turn.back()], most = std::max(most, took[turn.back()]);
    }
    if (total < kWorth || most > kLargestShare * total) {
      for (std::size_t i = 1; i < turn.size(); ++i) brief.push(turn[i]);
      turn.resize(1);
    }
    any = any || turn.size() > 1;
    beside[order.size()] = static_cast<std::uint32_t>(turn.size());
    for (const std::uint32_t s : turn) run(s);
  }
  if (!any) return;
  const double before = bytes_alive();
  std::vector<Step> written = steps_;
  for (std::size_t i = 0; i < count; ++i) {
    steps_[i] = written[order[i]];
    steps_[i].beside = beside[i];
  }
  number_steps();
  if (bytes_alive() <= kMoreAlive * before) return;
  steps_ = std::move(written);
  number_steps();
}

}  // namespace weft::inline v0
