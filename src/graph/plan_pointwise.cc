// How a plan runs a group of pointwise calls: one program over tiles, or, if the lanes are few, one call for each node.
#include <algorithm>
#include <map>

#include "base/convert.h"
#include "core/strides.h"
#include "graph/plan.h"
#include "kernels/following.h"

namespace weft::inline v0 {

void Plan::prepare_pointwise(Step& step) {
  Pointwise made;
  const std::span<const std::uint32_t> group = group_of(step);
  const ValueId folded = is_closed(step) ? graph_.nodes[step.nodes.back()].inputs[0] : static_cast<ValueId>(values_.size());
  made.shape = values_[graph_.nodes[group[0]].first].spec.shape;
  const std::int64_t lanes = made.shape.num_elements();
  bool direct = lanes <= kDirectLanes;
  struct Operand {
    ValueId value;
    std::int32_t param;
  };
  std::vector<Operand> operands;
  std::map<ValueId, std::size_t> slot_of;  // among the operands: outside values first, so that they have the first slots
  for (const std::uint32_t n : group) {
    const GraphNode& node = graph_.nodes[n];
    for (ValueId id : node.inputs) {
      const bool inside = std::any_of(group.begin(), group.end(), [&](std::uint32_t m) { return graph_.nodes[m].first == id; });
      if (!inside && slot_of.emplace(id, operands.size()).second) operands.push_back({id, -1});
    }
  }
  std::vector<std::vector<std::uint8_t>> numbers(group.size());  // slots of real attributes
  for (std::size_t k = 0; k < group.size(); ++k) {
    const GraphNode& node = graph_.nodes[group[k]];
    const DType dtype = values_[node.inputs[0]].spec.dtype, lane = is_half(dtype) ? f32 : dtype;
    for (const Attr& attr : node.attrs) {
      const double* const value = std::get_if<double>(&attr);
      if (value == nullptr) continue;
      numbers[k].push_back(static_cast<std::uint8_t>(operands.size()));
      operands.push_back({node.inputs[0], static_cast<std::int32_t>(params_.size())});
      params_.push_back(0);
      with_element(lane, [&](auto* tag) {
        const auto number = convert<std::remove_pointer_t<decltype(tag)>>(*value);
        std::memcpy(&params_.back(), &number, sizeof number);
      });
    }
  }
  for (const Operand& operand : operands) {
    Ints strides(static_cast<std::size_t>(made.shape.rank()), 0);
    const Spec& spec = values_[operand.value].spec;
    if (operand.param < 0) broadcast_strides(spec.shape, made.shape, strides.data());
    direct = direct && !is_half(spec.dtype) && (lanes == 1 || (operand.param < 0 && spec.shape == made.shape));
    made.inputs.push_back({operand.value, operand.param, std::move(strides)});
  }
  for (std::size_t k = 0; k < group.size(); ++k) {
    const GraphNode& node = graph_.nodes[group[k]];
    const DType dtype = values_[node.inputs[0]].spec.dtype, result = values_[node.first].spec.dtype;
    const auto slot = static_cast<std::uint8_t>(operands.size() + k);
    kernels::TileStep tile{.fn = node.op->tile.for_dtype(dtype), .count = 0, .in = {}, .out = slot, .round = half_of(result),
                           .past = node.op->tile.past_for(dtype), .work = node.op->tile.work()};
    for (ValueId id : node.inputs) tile.in[tile.count++] = static_cast<std::uint8_t>(slot_of.at(id));
    for (const std::uint8_t number : numbers[k]) tile.in[tile.count++] = number;
    made.tiles.push_back(tile);
    made.slots.push_back(node.first);
    slot_of.emplace(node.first, slot);
    const Place place = values_[node.first].place;
    if (node.first == folded) {
      made.folded = true;
      made.outputs.insert(made.outputs.begin(), folded);
      made.output_slots.insert(made.output_slots.begin(), slot);
    } else if (place == Place::kEscapes || (place == Place::kArena && !(direct && values_[node.first].last == values_[node.first].made))) {
      made.outputs.push_back(node.first);
      made.output_slots.push_back(slot);
    }
  }
  for (std::size_t k = 0; direct && lanes > 0 && k < made.tiles.size(); ++k) {
    const GraphNode& node = graph_.nodes[group[k]];
    const DType dtype = values_[node.inputs[0]].spec.dtype;
    const kernels::TileFn fn = lanes == 1 ? node.op->tile.one_for(dtype) : made.tiles[k].fn;
    DirectCall call{fn, {}, static_cast<std::uint32_t>(made.slots[k]), static_cast<std::uint32_t>(lanes), made.tiles[k].count,
                    lanes == 1 && dtype == f32 ? node.op->tile.link : kernels::Link::kNone};
    for (std::size_t i = 0; i < made.tiles[k].count; ++i) {
      const std::size_t slot = made.tiles[k].in[i];
      if (slot >= made.inputs.size()) call.in[i] = made.slots[slot - made.inputs.size()];
      else if (made.inputs[slot].param < 0) call.in[i] = made.inputs[slot].value;
      else call.in[i] = static_cast<std::uint32_t>(values_.size()) + static_cast<std::uint32_t>(made.inputs[slot].param);
    }
    made.direct.push_back(call);
  }
  if (made.direct.empty()) join_chains(group, made);
  step.pointwise = static_cast<std::int32_t>(pointwise_.size());
  step.joined = group.size() < step.nodes.size();
  pointwise_.push_back(std::move(made));
}

// Simple calls on f32 that follow each other become one step, in which what one makes goes to the next in a register.
void Plan::join_chains(std::span<const std::uint32_t> nodes, Pointwise& group) const {
  using kernels::Link, kernels::TileStep;
  std::vector<int> reads(group.inputs.size() + group.tiles.size());  // of each slot, by later calls or by others
  for (const TileStep& tile : group.tiles)
    for (std::size_t i = 0; i < tile.count; ++i) ++reads[tile.in[i]];
  for (const std::uint8_t slot : group.output_slots) ++reads[slot];
  const auto link_of = [&](std::size_t k) {
    const GraphNode& node = graph_.nodes[nodes[k]];
    return values_[node.inputs[0]].spec.dtype == f32 ? node.op->tile.link : Link::kNone;
  };
  // Call k, whose operands are in memory but for what the call before it has made. What that made goes to memory if it is read more often than
  // from the register. Takes three links at most.
  const auto append = [&](std::vector<kernels::TileLink>& chain, std::size_t k) {
    const TileStep &tile = group.tiles[k], *const before = chain.empty() ? nullptr : &group.tiles[k - 1];
    const bool first = before != nullptr && tile.in[0] == before->out, second = before != nullptr && tile.count == 2 && tile.in[1] == before->out;
    if (before != nullptr && reads[before->out] > (first || second)) chain.push_back({Link::kKeep, before->out});
    const kernels::Following next = kernels::following(link_of(k), tile.count, first, second);
    if (next.loads) chain.push_back({Link::kLoad, tile.in[0]});
    chain.push_back({next.link, tile.in[next.operand]});
  };
  constexpr std::size_t kMostBefore = kernels::kMaxTileChain - 4;  // three links more, and one that keeps the result
  std::vector<TileStep> steps;
  for (std::size_t k = 0; k < group.tiles.size();) {
    std::vector<kernels::TileLink> chain;
    TileStep step = group.tiles[k];
    std::size_t end = k;
    for (; end < group.tiles.size() && link_of(end) != Link::kNone && chain.size() <= kMostBefore; ++end) append(chain, end);
    if (end < k + 2) {  // nobody to go on with
      steps.push_back(step);
      ++k;
      continue;
    }
    step.fn = step.past = nullptr;
    step.count = 0;
    step.out = group.tiles[end - 1].out;
    for (++k; k < end; ++k) step.work = static_cast<std::uint8_t>(step.work + group.tiles[k].work);
    chain.push_back({Link::kKeep, step.out});
    group.chains.push_back(std::move(chain));
    step.chain = group.chains.back();
    steps.push_back(step);
  }
  group.tiles = std::move(steps);
}

}  // namespace weft::inline v0
