// Running a plan.
#include <new>

#include "base/memory.h"
#include "core/update.h"
#include "graph/plan.h"

namespace weft::inline v0 {
// What one call at a time needs: the arena, and a Node for each value that kernels see.
struct Plan::Frame {
  explicit Frame(const Plan& plan) : values(plan.values_.size()), data(plan.values_.size()) {
    if (plan.arena_ > 0) {
      arena.block = allocate_block(plan.arena_);
      if (arena.block.start == nullptr) throw std::bad_alloc();
    }
    for (std::size_t v = 0; v < values.size(); ++v) {
      const Value& root = plan.values_[plan.values_[v].root];
      if (root.place == Place::kNone) continue;
      values[v] = Tensor(new Node(plan.values_[v].spec));
      if (root.place == Place::kArena) bind(v, static_cast<char*>(arena.block.start) + root.at);
      if (root.place == Place::kConstant) bind(v, plan.graph_.constants[root.at].value.node()->data);
    }
  }
  void bind(std::size_t v, void* at) {
    data[v] = at;
    values[v].node()->data = at;
  }

  struct Arena {
    ~Arena() {
      if (block.start != nullptr) free_block(block);
    }
    Block block{};
  } arena;
  std::vector<Tensor> values;
  std::vector<void*> data;
  std::vector<Tensor> escaping;
};

// A frame for a call: the spare one, or a new one.
class Plan::Lease {
 public:
  explicit Lease(const Plan& plan) : plan_(plan), frame_(plan.spare_.exchange(nullptr, std::memory_order_acquire)) {
    if (frame_ == nullptr) frame_ = new Frame(plan);
  }
  ~Lease() {
    frame_->escaping.clear();
    delete plan_.spare_.exchange(frame_, std::memory_order_acq_rel);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Frame& operator*() const { return *frame_; }

 private:
  const Plan& plan_;
  Frame* frame_;
};

Plan::~Plan() { delete spare_.load(std::memory_order_acquire); }

void Plan::run_pointwise(const Pointwise& step, Frame& frame) const {
  const auto place = [&](const Lane& lane) -> const void* { return lane.param < 0 ? frame.data[lane.value] : static_cast<const void*>(&params_[static_cast<std::size_t>(lane.param)]); };
  const std::size_t inputs = step.inputs.size();
  if (step.direct) {
    void* slots[kernels::kMaxTileSlots];
    for (std::size_t i = 0; i < inputs; ++i) slots[i] = const_cast<void*>(place(step.inputs[i]));
    for (std::size_t i = 0; i < step.slots.size(); ++i) slots[inputs + i] = frame.data[step.slots[i]];
    const auto lanes = static_cast<std::size_t>(step.shape.num_elements());
    for (const kernels::TileStep& tile : step.tiles) {
      const void* in[kernels::kMaxTileInputs];
      for (std::size_t i = 0; i < tile.count; ++i) in[i] = slots[tile.in[i]];
      if (lanes > 0) tile.fn(in, slots[tile.out], lanes);
    }
    return;
  }
  kernels::TileInput in[kernels::kMaxTileSlots];
  for (std::size_t i = 0; i < inputs; ++i) {
    const DType dtype = values_[step.inputs[i].value].spec.dtype;
    const bool number = step.inputs[i].param >= 0;
    in[i] = {place(step.inputs[i]), step.inputs[i].strides.data(), size_of(number && is_half(dtype) ? f32 : dtype), number ? kernels::Half::kNo : half_of(dtype)};
  }
  kernels::TileOutput out[kernels::kMaxTileSlots];
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const DType dtype = values_[step.outputs[i]].spec.dtype;
    out[i] = {frame.data[step.outputs[i]], size_of(dtype), half_of(dtype), step.output_slots[i]};
  }
  kernels::run_tiles(step.tiles, {in, inputs}, {out, step.outputs.size()}, step.shape.begin(), step.shape.rank());
}

void Plan::run_call(const GraphNode& node, Frame& frame) const {
  SmallVector<Tensor, 6> inputs;
  bool halves = false;
  for (ValueId id : node.inputs) {
    inputs.push_back(frame.values[id]);
    halves = halves || is_half(values_[id].spec.dtype);
  }
  const Op& op = *node.op;
  const OpArgs args{op, node.attrs, node.at};
  if (op.kernel != nullptr && (!halves || op.is(kMoves))) {
    Tensors outputs;
    Specs specs;
    for (std::uint32_t i = 0; i < node.count; ++i) {
      outputs.push_back(frame.values[node.first + i]);
      specs.push_back(values_[node.first + i].spec);
    }
    KernelCall call{args, inputs, outputs, specs};
    if (op.validate != nullptr) op.validate(call);
    return op.kernel(call);
  }
  if (op.update != nullptr) {
    Specs specs;
    for (std::uint32_t i = 0; i < node.count; ++i) specs.push_back(values_[node.first + i].spec);
    const Call call{op, inputs, node.attrs, node.at};
    PreparedUpdate update(call, specs);
    const std::size_t listed = op.inputs.size() - 1;
    for (std::uint32_t i = 0; i < node.count; ++i) update.place(i, frame.data[node.inputs[listed + i]], frame.data[node.first + i]);
    return update.run();
  }
  // As an eager call; what it makes goes to its place. Kernels on 16-bit floats are such, and pointwise rows that look at data first.
  Tensors results;
  apply_eagerly({op, inputs, node.attrs, node.at}, results);
  for (std::uint32_t i = 0; i < node.count; ++i)
    if (const std::int64_t bytes = bytes_of(values_[node.first + i].spec); bytes > 0)
      std::memcpy(frame.data[node.first + i], results[i].node()->data, static_cast<std::size_t>(bytes));
}

std::vector<Tensor> Plan::run(std::span<Tensor> inputs) const {
  const Lease lease(*this);
  Frame& frame = *lease;
  for (ValueId root : escaping_) {
    const GraphNode& node = graph_.nodes[graph_.values[root].from];
    try {
      frame.escaping.push_back(make_tensor(values_[root].spec));
    } catch (...) {
      rethrow_in_name_of(*node.op, node.at);
    }
  }
  for (ValueId id : bound_) {
    const Value& root = values_[values_[id].root];
    frame.bind(id, (root.place == Place::kInput ? inputs[root.at] : frame.escaping[root.at]).node()->data);
  }
  for (const Step& step : steps_) {
    const GraphNode& node = graph_.nodes[step.nodes[0]];
    try {
      if (step.pointwise >= 0) run_pointwise(pointwise_[static_cast<std::size_t>(step.pointwise)], frame);
      else run_call(node, frame);
    } catch (...) {
      rethrow_in_name_of(*node.op, node.at);
    }
  }
  std::vector<Tensor> outputs;
  outputs.reserve(graph_.outputs.size());
  for (ValueId id : graph_.outputs) {
    const Value& root = values_[values_[id].root];
    const Tensor& whole = root.place == Place::kInput ? inputs[root.at] : root.place == Place::kConstant ? graph_.constants[root.at].value : frame.escaping[root.at];
    outputs.push_back(values_[id].root == id ? whole : make_view(whole, values_[id].spec.shape));
  }
  return outputs;
}

}  // namespace weft::inline v0
