// Running a plan.
#include <algorithm>
#include <chrono>

#include "base/pool.h"
#include "core/update.h"
#include "graph/plan_frame.h"
#include "graph/region_parts.h"
#include "graph/replay.h"

namespace weft::inline v0 {

// A frame for a call: the spare one, or a new one.
class Plan::Lease {
 public:
  explicit Lease(const Plan& plan) : plan_(plan), frame_(plan.spare_.exchange(nullptr, std::memory_order_acquire)) {
    if (frame_ == nullptr) frame_ = new Frame(plan);
  }
  ~Lease() {
    frame_->escaping.clear();
    for (ValueId id : plan_.dynamic_) frame_->values[id] = Tensor();
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

// What a kernel does besides.
struct Plan::Joined {
  const kernels::BlockDone* done = nullptr;
  const kernels::MakeElements* make = nullptr;
};

struct Plan::GroupOperands {
  kernels::TileInput in[kernels::kMaxTileSlots];
  kernels::TileOutput out[kernels::kMaxTileSlots];
};

void Plan::fill(const Pointwise& step, const Frame& frame, GroupOperands& operands) const {
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const Lane& lane = step.inputs[i];
    const DType dtype = values_[lane.value].spec.dtype;
    const bool number = lane.param >= 0;
    const void* const data = number ? static_cast<const void*>(&params_[static_cast<std::size_t>(lane.param)]) : frame.data[lane.value];
    operands.in[i] = {data, lane.strides.data(), size_of(number && is_half(dtype) ? f32 : dtype), number ? kernels::Half::kNo : half_of(dtype)};
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const DType dtype = values_[step.outputs[i]].spec.dtype;
    operands.out[i] = {frame.data[step.outputs[i]], size_of(dtype), half_of(dtype), step.output_slots[i]};
  }
  if (step.folded) operands.out[0].cached = true;  // it goes no further than the cache
}

void Plan::run_pointwise(const Pointwise& step, Frame& frame) const {
  if (!step.direct.empty()) {
    void* const* const data = frame.data.data();
    for (const DirectCall& call : step.direct) {
      const void* in[kernels::kMaxTileInputs] = {data[call.in[0]], data[call.in[1]]};
      for (int i = 2; i < call.count; ++i) in[i] = data[call.in[i]];
      call.fn(in, data[call.out], call.lanes);
    }
    return;
  }
  GroupOperands operands;
  fill(step, frame, operands);
  kernels::run_tiles(step.tiles, {operands.in, step.inputs.size()}, {operands.out, step.outputs.size()}, step.shape.begin(), step.shape.rank());
}

// Runs the call of a step together with its group.
void Plan::run_joined(const Step& step, Frame& frame) const {
  const Pointwise& group = pointwise_[static_cast<std::size_t>(step.pointwise)];
  GroupOperands operands;
  fill(group, frame, operands);
  kernels::with_lanes(group.tiles, {operands.in, group.inputs.size()}, {operands.out, group.outputs.size()}, group.shape.begin(), group.shape.rank(), [&](kernels::RunLanes run) {
    if (group.folded) {
      const auto make = [&](std::int64_t begin, std::int64_t count, void* to) { run({static_cast<std::size_t>(begin), 1, static_cast<std::size_t>(count), 0, to}); };
      const kernels::MakeElements by_lanes(make);
      return run_call(step.nodes.back(), frame, {.make = &by_lanes});
    }
    const ValueId result = graph_.nodes[step.nodes[0]].first;
    const std::size_t size = size_of(values_[result].spec.dtype);
    const auto done = [&](const kernels::DoneBlock& block) {
      const std::size_t begin = static_cast<std::size_t>(static_cast<char*>(block.data) - static_cast<char*>(frame.data[result])) / size;
      const auto rows = static_cast<std::size_t>(block.rows), cols = static_cast<std::size_t>(block.cols), apart = static_cast<std::size_t>(block.apart);
      if (cols == apart) run({begin, 1, rows * cols, 0});
      else run({begin, rows, cols, apart});
    };
    const kernels::BlockDone by_blocks(done);
    run_call(step.nodes[0], frame, {.done = &by_blocks});
  });
}

Specs Plan::specs_of(const GraphNode& node) const {
  Specs specs;
  specs.reserve(node.count);
  for (std::uint32_t i = 0; i < node.count; ++i) specs.push_back(values_[node.first + i].spec);
  return specs;
}

void Plan::run_kernel(const GraphNode& node, std::span<const Tensor> inputs, Frame& frame, const Joined& joined) const {
  const Op& op = *node.op;
  Tensors outputs;
  const Specs specs = specs_of(node);
  SmallVector<bool, 8> unread;
  for (std::uint32_t i = 0; i < node.count; ++i) {
    // What the turn before has made is no room for this one's.
    if (values_[node.first + i].place == Place::kDynamic) frame.values[node.first + i] = Tensor();
    outputs.push_back(frame.values[node.first + i]);
    if (op.is(kSkipsUnread)) unread.push_back(unread_[node.first + i]);
  }
  KernelCall call{{op, node.attrs, node.at}, inputs, outputs, specs, unread, joined.done, joined.make};
  if (op.validate != nullptr) op.validate(call);
  op.kernel(call);
  for (std::uint32_t i = 0; i < node.count; ++i)
    if (values_[node.first + i].place == Place::kDynamic) frame.values[node.first + i] = std::move(outputs[i]);
}

// What it makes has a Spec and no elements.
void Plan::apply_rule(const GraphNode& node, Frame& frame) const {
  SmallVector<const Spec*, 4> specs;
  for (ValueId id : node.inputs) specs.push_back(values_[id].spec.shape.known() ? &values_[id].spec : &frame.values[id].node()->spec);
  Specs results = node.op->infer(Infer{{*node.op, node.attrs, node.at}, specs});
  for (std::uint32_t i = 0; i < node.count; ++i)
    if (values_[node.first + i].place == Place::kDynamic) frame.values[node.first + i] = Tensor(new Node(std::move(results[i])));
}

void Plan::check_late(const GraphNode& node, const Frame& frame) const {
  SmallVector<Tensor, 6> inputs;
  bool known = true;
  for (ValueId id : node.inputs) {
    inputs.push_back(frame.values[id]);
    known = known && values_[id].spec.shape.known();
  }
  const Call call{*node.op, inputs, node.attrs, node.at};
  validate(call, known ? specs_of(node) : check(call));
}

void Plan::run_call(std::uint32_t n, Frame& frame, const Joined& joined) const {
  const GraphNode& node = graph_.nodes[n];
  const bool dynamic = ways_[n] == Way::kDynamic;
  SmallVector<Tensor, 6> inputs;
  bool halves = false;
  for (ValueId id : node.inputs) {
    inputs.push_back(frame.values[id]);
    halves = halves || is_half(values_[id].spec.dtype);
  }
  const Op& op = *node.op;
  if (op.kernel != nullptr && (op.is(kSkipsUnread) || (!dynamic && !op.is(kValueShape) && (!halves || op.is(kMoves)))))
    return run_kernel(node, inputs, frame, joined);
  if (op.update != nullptr && !dynamic) {
    const Call call{op, inputs, node.attrs, node.at};
    PreparedUpdate update(call, specs_of(node));
    for (std::uint32_t i = 0; i < node.count; ++i) update.place(i, frame.data[node.inputs[first_changed(op) + i]], frame.data[node.first + i]);
    return update.run();
  }
  // As an eager call; what it makes goes to its place. Kernels on 16-bit floats are such, pointwise rows that look at data first, and calls
  // on values whose shape no plan knows.
  Tensors results;
  if (op.is(kView)) inputs[0] = with_own_memory(inputs[0]);
  apply_eagerly({op, inputs, node.attrs, node.at}, results);
  for (std::uint32_t i = 0; i < node.count; ++i) {
    const ValueId id = node.first + i;
    if (values_[id].place == Place::kDynamic) frame.values[id] = with_own_memory(results[i]);
    else if (const std::int64_t bytes = bytes_of(values_[id].spec); bytes > 0)
      std::memcpy(frame.data[id], results[i].node()->data, static_cast<std::size_t>(bytes));
  }
}

void Plan::execute(const Step& step, Frame& frame) const {
  const GraphNode& node = graph_.nodes[step.nodes[0]];
  try {
    if (step.checks) node.runs ? check_late(node, frame) : apply_rule(node, frame);
    else if (step.pointwise < 0) run_call(step.nodes[0], frame, {});
    else if (step.joined) run_joined(step, frame);
    else run_pointwise(pointwise_[static_cast<std::size_t>(step.pointwise)], frame);
  } catch (...) {
    rethrow_in_name_of(*node.op, node.at);
  }
}

// Notes when something begins and how long it takes.
class Plan::Stopwatch {
 public:
  explicit Stopwatch(std::vector<StepTime>* times = nullptr) : times_(times), start_(times != nullptr ? Clock::now() : Clock::time_point()) {}
  /// f(0), f(1), ..., f(count - 1), side by side if there are several.
  template <class F>
  void time_each(std::int64_t count, const F& f) const {
    if (times_ == nullptr) return parallel_for(count, f);
    const std::size_t first = times_->size();
    times_->resize(first + static_cast<std::size_t>(count));
    parallel_for(count, [&](std::int64_t i) {
      const double began = now();
      f(i);
      (*times_)[first + static_cast<std::size_t>(i)] = {began, now() - began};
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  double now() const { return std::chrono::duration<double, std::micro>(Clock::now() - start_).count(); }
  std::vector<StepTime>* times_;
  Clock::time_point start_;
};

// REQUIRES: a step of this turn has failed. Whether one that is written before it has not run yet.
bool Plan::has_overtaken(std::size_t turn) const {
  const std::size_t next = turn + steps_[turn].beside;
  const std::uint32_t last = steps_[next - 1].written;  // in a turn they are as written
  return std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(next), steps_.end(), [&](const Step& step) { return step.written < last; });
}

// Makes the calls once more, one after the other as they are written: the first that fails is the one whose error the program would have seen.
void Plan::rethrow_first(const Frame& frame) const try {
  std::vector<Tensor> values(values_.size());
  for (const ValueId id : graph_.inputs) {
    Tensor borrowed(new Node(values_[id].spec));
    borrowed.node()->data = frame.data[id];
    values[id] = with_own_memory(borrowed);
  }
  replay(graph_, values);
} catch (const std::bad_alloc&) {  // then the error that is there will do
} catch (const OutOfMemoryError&) {
}

void Plan::run_steps(Frame& frame, const Stopwatch& watch) const {
  const std::size_t count = steps_.size() - late_.size();
  for (std::size_t s = 0; s < count; s += steps_[s].beside) try {
    if (steps_[s].checks) execute(steps_[s], frame);
    else watch.time_each(steps_[s].beside, [&](std::int64_t i) { execute(steps_[s + static_cast<std::size_t>(i)], frame); });
  } catch (...) {
    if (has_overtaken(s)) rethrow_first(frame);
    throw;
  }
}
void Plan::run_steps(Frame& frame) const { run_steps(frame, Stopwatch()); }

void Plan::run_late(std::span<PreparedUpdate> updates, const Stopwatch& watch) const {
  for (std::size_t l = 0, beside; l < updates.size(); l += beside) {
    beside = steps_[steps_.size() - updates.size() + l].beside;
    watch.time_each(static_cast<std::int64_t>(beside), [&](std::int64_t i) { updates[l + static_cast<std::size_t>(i)].run(); });
  }
}

void Plan::bind(std::span<Tensor> inputs, Frame& frame) const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (ValueId id : of_input_[i]) frame.bind(id, inputs[i].node()->data);
  for (std::size_t i = 0; i < escaping_.size(); ++i) {
    const GraphNode& node = graph_.nodes[graph_.values[escaping_[i]].from];
    try {
      frame.escaping.push_back(make_tensor(values_[escaping_[i]].spec));
    } catch (...) {
      rethrow_in_name_of(*node.op, node.at);
    }
    for (ValueId id : of_escaping_[i]) frame.bind(id, frame.escaping.back().node()->data);
  }
}

// Those of late steps are empty.
Tensors Plan::outputs_of(std::span<Tensor> inputs, Frame& frame) const {
  Tensors outputs;
  outputs.reserve(outputs_.size());
  for (const Output& output : outputs_) {
    const Value& root = values_[output.root];
    if (root.place == Place::kLate) {
      outputs.emplace_back();
      continue;
    }
    if (root.place == Place::kConstant) {
      const Tensor& whole = graph_.constants[root.at].value;
      outputs.push_back(output.value == output.root ? whole : make_view(whole, values_[output.value].spec.shape));
      continue;
    }
    Tensor& whole = root.place == Place::kInput     ? inputs[root.at]
                    : root.place == Place::kDynamic ? frame.values[output.root]
                                                    : frame.escaping[root.at];
    if (output.last) outputs.push_back(std::move(whole));
    else outputs.push_back(output.value == output.root ? whole : make_view(whole, values_[output.value].spec.shape));
  }
  return outputs;
}

// What a late call reads. A kernel holds its inputs, so that they stay as they are; of values that only this call knows, the frame's.
SmallVector<Tensor, 6> Plan::read_late(const GraphNode& node, std::span<const Tensor> inputs, const Frame& frame) const {
  SmallVector<Tensor, 6> read;
  read.reserve(node.inputs.size());
  for (ValueId id : node.inputs) {
    const Value& root = values_[values_[id].root];
    if (node.op->update != nullptr || read.empty() || root.place != Place::kInput) read.push_back(frame.values[id]);
    else read.push_back(values_[id].root == id ? inputs[root.at] : make_view(inputs[root.at], values_[id].spec.shape));
  }
  return read;
}

// What only publishing is missing from. Nothing of it can fail afterwards.
CallList<PreparedUpdate> Plan::prepare_late(std::span<const Tensor> inputs, Frame& frame) const {
  CallList<PreparedUpdate> updates;
  updates.reserve(late_.size());
  for (const Late& late : late_) {
    const GraphNode& node = graph_.nodes[late.node];
    SmallVector<Tensor, 6> read = read_late(node, inputs, frame);
    try {
      updates.emplace_back(Call{*node.op, read, node.attrs, node.at}, specs_of(node));
    } catch (...) {
      rethrow_in_name_of(*node.op, node.at);
    }
  }
  return updates;
}

Tensors Plan::run(std::span<Tensor> inputs, std::vector<StepTime>* times, const Publish* publish) const {
  const Stopwatch watch(times);
  const Lease lease(*this);
  Frame& frame = *lease;
  bind(inputs, frame);
  run_steps(frame, watch);
  if (late_.empty() && publish == nullptr) return outputs_of(inputs, frame);

  CallList<PreparedUpdate> updates = prepare_late(inputs, frame);
  Tensors outputs = outputs_of(inputs, frame);
  const std::size_t first = outputs.size() - replacing_;
  const auto write = [&](std::span<const UpdatePlace> places) {
    for (std::size_t l = 0; l < late_.size(); ++l)
      for (std::size_t i = 0; i < late_[l].outputs.size(); ++i) {
        const UpdatePlace& place = places[late_[l].outputs[i] - first];
        updates[l].place(i, place.from, place.to);
      }
    run_late(updates, watch);
  };
  if (publish != nullptr) {
    (*publish)(write, {outputs.begin() + first, replacing_});
    for (std::size_t i = 0; i < replacing_; ++i) outputs[first + i] = Tensor();
    return outputs;
  }
  CallList<UpdatePlace> places(replacing_);
  for (const Late& late : late_) {
    const GraphNode& node = graph_.nodes[late.node];
    const ValueId* const old = node.inputs.begin() + first_changed(*node.op);
    for (std::size_t i = 0; i < late.outputs.size(); ++i) {
      Tensor& fresh = outputs[late.outputs[i]];
      fresh = make_tensor(values_[node.first + i].spec);
      places[late.outputs[i] - first] = {frame.data[old[i]], mutable_data(fresh)};
    }
  }
  write(places);
  return outputs;
}

}  // namespace weft::inline v0
