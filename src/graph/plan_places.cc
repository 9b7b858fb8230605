// Where the values of a plan lie in its arena.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/planted.h"
#include "graph/plan.h"

namespace weft::inline v0 {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kMostCompared = 500;  // values whose places are sought in other orders; the time for that grows with their square

// Whole lines, so that no two values share one.
std::size_t room_for(const Spec& spec) { return (static_cast<std::size_t>(bytes_of(spec)) + kLine - 1) / kLine * kLine; }

// Places in the arena that nobody uses.
class FreePlaces {
 public:
  // The smallest one that is large enough, of those the first.
  std::size_t take(std::size_t bytes, std::size_t& end) {
    if (bytes == 0) return 0;
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) {
      const std::size_t at = end;
      end += bytes;
      return at;
    }
    const auto [room, at] = *best;
    remove(by_offset_.find(at));
    if (room > bytes) add(at + bytes, room - bytes);
    return at;
  }
  void give(std::size_t at, std::size_t bytes) {
    if (bytes == 0) return;
    auto next = by_offset_.lower_bound(at);
    if (next != by_offset_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = remove(next);
    }
    if (next != by_offset_.begin())
      if (const auto before = std::prev(next); before->first + before->second == at) {
        at = before->first;
        bytes += before->second;
        remove(before);
      }
    add(at, bytes);
  }

 private:
  using Offsets = std::map<std::size_t, std::size_t>;
  void add(std::size_t at, std::size_t bytes) {
    by_offset_.emplace(at, bytes);
    by_size_.emplace(bytes, at);
  }
  Offsets::iterator remove(Offsets::iterator place) {
    by_size_.erase({place->second, place->first});
    return by_offset_.erase(place);
  }

  Offsets by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // the same places
};

struct Stay {
  std::size_t bytes, at;
  std::uint32_t from, to;  // steps, both included
};

// In the order in which they come, each in the smallest room that is free by then. Returns how much is used in all.
std::size_t place_as_they_come(std::vector<Stay>& stays, std::size_t steps) {
  FreePlaces free;
  std::size_t end = 0;
  std::vector<std::vector<std::size_t>> leaving(steps + 1);
  std::uint32_t now = 0;
  for (std::size_t i = 0; i < stays.size(); ++i) {
    for (; now < stays[i].from; ++now)
      for (const std::size_t gone : leaving[now]) free.give(stays[gone].at, stays[gone].bytes);
    stays[i].at = free.take(stays[i].bytes, end);
    leaving[stays[i].to].push_back(i);
  }
  return end;
}

// Those that weigh most first, each in the lowest gap between those that are there at the same time.
std::size_t place_by_weight(std::vector<Stay>& stays, double (*weight)(const Stay&)) {
  std::vector<std::size_t> order(stays.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(stays[a]) > weight(stays[b]); });
  std::vector<std::size_t> placed;  // by their offsets
  std::size_t end = 0;
  for (const std::size_t i : order) {
    Stay& stay = stays[i];
    stay.at = 0;
    for (const std::size_t other : placed) {
      const Stay& there = stays[other];
      if (there.to < stay.from || stay.to < there.from) continue;
      if (there.at >= stay.at + stay.bytes) break;
      stay.at = std::max(stay.at, there.at + there.bytes);
    }
    placed.insert(std::upper_bound(placed.begin(), placed.end(), stay.at, [&](std::size_t at, std::size_t other) { return at < stays[other].at; }), i);
    end = std::max(end, stay.at + stay.bytes);
  }
  return end;
}

// No order is the best for all; the first that leaves no room unused will do.
constexpr double (*kWeights[])(const Stay&) = {
    [](const Stay& stay) { return static_cast<double>(stay.bytes); },
    [](const Stay& stay) { return static_cast<double>(stay.to) - stay.from; },
    [](const Stay& stay) { return static_cast<double>(stay.bytes) * (1.0 + stay.to - stay.from); },
};

std::size_t most_alive(const std::vector<Stay>& stays, std::size_t steps) {
  std::vector<std::size_t> come(steps + 2), gone(steps + 2);
  for (const Stay& stay : stays) come[stay.from] += stay.bytes, gone[stay.to + 1] += stay.bytes;
  std::size_t alive = 0, most = 0;
  for (std::size_t s = 0; s < come.size(); ++s) most = std::max(most, alive += come[s] - gone[s]);
  return most;
}

}  // namespace

// What node n of step s, a pointwise one, makes may lie where a value of the same kind does that nobody needs afterwards, if that has not been
// `inherited` yet and is read by calls of the group alone, none of them behind n. (Of a view that fits the group lanes are what they are of the value.)
// Such a value, one that comes from elsewhere if there is one, else the product that the group goes on with, or n's own.
ValueId Plan::dies_for(std::uint32_t n, std::uint32_t s, const std::vector<bool>& inherited) const {
  const ValueId made = graph_.nodes[n].first;
  if (values_[made].spec.shape.num_elements() <= kDirectLanes) return made;  // the caches hold all of them
  const Step& step = steps_[s - 1];
  std::span<const std::uint32_t> readers = group_of(step);
  readers = readers.first(static_cast<std::size_t>(std::find(readers.begin(), readers.end(), n) - readers.begin()) + 1);
  const auto read_otherwise = [&](ValueId id) {
    return std::any_of(step.nodes.begin(), step.nodes.end(), [&](std::uint32_t m) {
      const auto& inputs = graph_.nodes[m].inputs;
      return std::find(readers.begin(), readers.end(), m) == readers.end() && std::any_of(inputs.begin(), inputs.end(), [&](ValueId read) { return values_[read].root == id; });
    });
  };
  ValueId found = made;
  for (const std::uint32_t m : readers)
    for (ValueId id : graph_.nodes[m].inputs) {
      const Value& value = values_[id];
      if (inherited[id] || value.place != Place::kArena || value.last != s || value.spec != values_[made].spec || read_otherwise(id)) continue;
      if (value.made < s) return id;
      found = id;
    }
  return found;
}

void Plan::lay_out() {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<Stay> stays;
  std::vector<std::size_t> stay_of(values_.size(), kNone);
  std::vector<bool> inherited(values_.size());
  const std::vector<Turn> turns = turns_of_steps();
  for (std::uint32_t s = 1; s <= steps_.size(); ++s)
    for (const std::uint32_t n : steps_[s - 1].nodes)
      for (ValueId id = graph_.nodes[n].first; id < graph_.nodes[n].first + graph_.nodes[n].count; ++id) {
        Value& value = values_[id];
        // A small group keeps what it makes inside for itself in the arena, too: it runs without tiles.
        if (ways_[n] == Way::kPointwise && value.place == Place::kNone && value.root == id && value.spec.shape.num_elements() <= kDirectLanes) value.place = Place::kArena;
        if (value.place != Place::kArena) continue;
        const auto end = value.last - (planted(Bug::kReusesTooEarly) && value.spec.dtype == f32);
        const std::uint32_t to = std::max(turns[end].last, turns[s].last);
        // Steps beside this one may still read what dies here.
        const ValueId before = ways_[n] == Way::kPointwise && turns[s].first == turns[s].last ? dies_for(n, s, inherited) : id;
        if (before != id) {
          inherited[before] = true;
          stays[stay_of[id] = stay_of[before]].to = to;
          continue;
        }
        stay_of[id] = stays.size();
        stays.push_back({room_for(value.spec), 0, turns[s].first, to});
      }
  most_alive_ = most_alive(stays, steps_.size());
  arena_ = place_as_they_come(stays, steps_.size());
  for (const auto weight : kWeights) {
    if (arena_ == most_alive_ || stays.size() > kMostCompared) break;
    std::vector<Stay> others = stays;
    if (const std::size_t used = place_by_weight(others, weight); used < arena_) arena_ = used, stays = std::move(others);
  }
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (stay_of[v] != kNone) values_[v].at = stays[stay_of[v]].at;
}

}  // namespace weft::inline v0
