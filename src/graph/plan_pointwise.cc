// How a plan runs a group of pointwise calls: one program over tiles, or, if the lanes are few, one call for each node.
#include <algorithm>
#include <map>

#include "base/convert.h"
#include "core/strides.h"
#include "graph/plan.h"

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
    DirectCall call{made.tiles[k].fn, {}, static_cast<std::uint32_t>(made.slots[k]), static_cast<std::uint32_t>(lanes), made.tiles[k].count};
    for (std::size_t i = 0; i < made.tiles[k].count; ++i) {
      const std::size_t slot = made.tiles[k].in[i];
      if (slot >= made.inputs.size()) call.in[i] = made.slots[slot - made.inputs.size()];
      else if (made.inputs[slot].param < 0) call.in[i] = made.inputs[slot].value;
      else call.in[i] = static_cast<std::uint32_t>(values_.size()) + static_cast<std::uint32_t>(made.inputs[slot].param);
    }
    made.direct.push_back(call);
  }
  if (made.direct.empty()) join_pairs(group, made);
  step.pointwise = static_cast<std::int32_t>(pointwise_.size());
  step.joined = group.size() < step.nodes.size();
  pointwise_.push_back(std::move(made));
}

// Where a result is read once, by a call that has a loop together with the one that makes it, both become one step.
void Plan::join_pairs(std::span<const std::uint32_t> nodes, Pointwise& group) const {
  std::vector<int> reads(group.inputs.size() + group.tiles.size());
  for (const kernels::TileStep& tile : group.tiles)
    for (std::size_t i = 0; i < tile.count; ++i) ++reads[tile.in[i]];
  for (const std::uint8_t slot : group.output_slots) reads[slot] = 2;  // others read it
  const auto is_f32 = [&](std::size_t k) {
    const GraphNode& node = graph_.nodes[nodes[k]];
    return values_[node.inputs[0]].spec.dtype == f32 && values_[node.first].spec.dtype == f32;
  };
  std::vector<bool> joined(group.tiles.size()), gone(group.tiles.size());
  for (std::size_t k = 0; k < group.tiles.size(); ++k) {
    kernels::TileStep& second = group.tiles[k];
    for (std::size_t at = 0; at < second.count && !joined[k]; ++at) {
      const std::size_t slot = second.in[at];
      if (slot < group.inputs.size() || reads[slot] != 1) continue;
      const std::size_t f = slot - group.inputs.size();
      if (joined[f] || !is_f32(f) || !is_f32(k)) continue;
      const Op &first_op = *graph_.nodes[nodes[f]].op, &second_op = *graph_.nodes[nodes[k]].op;
      const auto pair = std::find_if(first_op.tile.pairs.begin(), first_op.tile.pairs.end(), [&](const Tile::Pair& p) { return p.second == &second_op && p.at == static_cast<int>(at); });
      if (pair == first_op.tile.pairs.end()) continue;
      kernels::TileStep both = group.tiles[f];
      for (std::size_t i = 0; i < second.count; ++i)
        if (i != at) both.in[both.count++] = second.in[i];
      both.fn = pair->fn;
      both.past = pair->past;
      both.out = second.out;
      both.work = static_cast<std::uint8_t>(both.work + second.work);
      second = both;
      joined[k] = gone[f] = true;
    }
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < group.tiles.size(); ++k)
    if (!gone[k]) group.tiles[kept++] = group.tiles[k];
  group.tiles.resize(kept);
}

}  // namespace weft::inline v0
