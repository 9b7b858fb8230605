// Running a loop.
#include <algorithm>

#include "base/planted.h"
#include "graph/region_parts.h"

namespace weft::inline v0 {
namespace {

// Where the inputs and results of a loop begin.
struct LoopParts {
  const Runner& body;
  bool conditional, reverse, go;  // go: the first turn is taken
  std::span<const Tensor> carried, elements, read;
  std::size_t results;  // how many kinds of rows the body makes
  std::int64_t turns = kUnknown;

  LoopParts(const KernelCall& call, const Region& region)
      : body(*region.bodies[0]), conditional(region.conditional), reverse(region.reverse), go(!conditional || *call.in<bool>(0)) {
    std::span<const Tensor> inputs = call.inputs.subspan(conditional ? 1 : 0);
    carried = inputs.first(region.carried);
    elements = inputs.subspan(region.carried, region.elements);
    read = inputs.subspan(region.carried + region.elements);
    results = body.graph().outputs.size() - region.carried - conditional;
    if (!elements.empty()) turns = elements[0].shape().dim(0);
  }
  // A loop that is known to take so many turns, with what is left of its body.
  LoopParts(const LoopParts& loop, const Runner& rest, std::span<const Tensor> left, std::int64_t count)
      : body(rest), conditional(false), reverse(false), go(true), carried(left), read(loop.read), results(0), turns(count) {}

  // Of the body's outputs, and of the loop's.
  std::size_t row(std::size_t i) const { return carried.size() + conditional + i; }
  std::size_t stacked() const { return results + carried.size(); }  // rows of results, then of carried values
  std::size_t place(std::int64_t turn) const { return static_cast<std::size_t>(reverse ? turns - 1 - turn : turn); }
  std::vector<Spec> specs() const {  // of the body's inputs in the first turn
    std::vector<Spec> first = specs_of(carried);
    for (const Tensor& element : elements) first.push_back(row_of(element.spec()));
    for (const Tensor& x : read) first.push_back(x.spec());
    return first;
  }
};

// Whether the plan of the first turn is that of all turns.
bool stays_fixed(const LoopParts& loop, const Plan& plan) {
  bool fixed = BoundPlan::possible(plan);
  for (std::size_t i = 0; fixed && i < loop.carried.size(); ++i) fixed = plan.output_spec(i) == loop.carried[i].spec();
  return fixed;
}

std::size_t bytes(const Spec& spec) { return static_cast<std::size_t>(bytes_of(spec)); }

// Rows of one kind, one for each turn. Their number may be known only in the end.
class Rows {
 public:
  Rows(Spec row, std::int64_t turns, Tensor room, bool kept) : row_(std::move(row)), size_(bytes(row_)), kept_(kept), whole_(std::move(room)) {
    if (kept_ && !whole_.defined()) whole_ = make_tensor(rows_of(row_, turns == kUnknown ? kFirst : turns));
    if (!kept_) whole_ = make_tensor(row_);  // room for one, which nobody looks at
    if (kept_ && size_ > 0 && turns == kUnknown) capacity_ = kFirst;
  }
  std::byte* at(std::size_t i) {
    if (!kept_) return static_cast<std::byte*>(mutable_data(whole_));
    if (capacity_ > 0 && i >= capacity_) resize(i, 2 * capacity_);
    return static_cast<std::byte*>(mutable_data(whole_)) + i * size_;
  }
  bool kept() const { return kept_; }
  std::size_t size() const { return size_; }
  Tensor finish(std::int64_t turns) {
    if (!kept_) return {};
    if (whole_.shape().dim(0) != turns) resize(static_cast<std::size_t>(turns), static_cast<std::size_t>(turns));
    return whole_;
  }

 private:
  static constexpr std::int64_t kFirst = 16;
  void resize(std::size_t used, std::size_t rows) {
    Tensor larger = make_tensor(rows_of(row_, static_cast<std::int64_t>(rows)));
    if (used * size_ > 0) std::memcpy(mutable_data(larger), mutable_data(whole_), used * size_);
    whole_ = std::move(larger);
    capacity_ = rows;
  }
  Spec row_;
  std::size_t size_, capacity_ = 0;  // 0: it does not grow
  bool kept_;
  Tensor whole_;
};

// Shapes stay the same from turn to turn: two frames, each of which reads what the other one writes. `kept` says which kinds of rows somebody reads.
void run_fixed(const LoopParts& loop, const Plan& plan, Tensors& outputs, const std::vector<bool>& kept) {
  BoundPlan even(plan), odd(plan);
  BoundPlan* const frames[] = {&even, &odd};
  bool go = loop.go;
  std::vector<Tensor> places[2];
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    for (auto& side : places) side.push_back(make_tensor(loop.carried[i].spec()));
    copy_into(mutable_data(places[0][i]), loop.carried[i]);
    for (const std::size_t side : {0, 1}) {
      frames[side]->input(i, mutable_data(places[side][i]));
      frames[side]->output(i, mutable_data(places[1 - side][i]));
    }
  }
  std::vector<Rows> rows;
  for (std::size_t i = 0; i < loop.stacked(); ++i) {
    const std::size_t out = loop.carried.size() + i;
    rows.emplace_back(i < loop.results ? even.output_spec(loop.row(i)) : loop.carried[i - loop.results].spec(), loop.turns, outputs[out], kept[i]);
  }
  for (BoundPlan* const frame : frames) {
    if (loop.conditional) frame->output(loop.carried.size(), &go);
    for (std::size_t i = 0; i < loop.read.size(); ++i) frame->input(loop.carried.size() + loop.elements.size() + i, mutable_data(loop.read[i]));
    for (std::size_t i = 0; i < loop.results; ++i) frame->output(loop.row(i), rows[i].at(0));
  }
  std::vector<std::size_t> element_bytes;
  for (const Tensor& element : loop.elements) element_bytes.push_back(bytes(row_of(element.spec())));
  const bool keeps = std::any_of(rows.begin(), rows.end(), [](const Rows& r) { return r.kept(); });
  const std::int64_t end = loop.turns - planted(Bug::kLeavesOutLastTurn);
  std::int64_t turn = 0;
  if (element_bytes.empty() && !keeps) turn = loop.conditional ? BoundPlan::run_while(go, even, odd) : BoundPlan::run_turns(end, even, odd);
  for (; go && turn != end; ++turn) {
    const std::size_t side = turn & 1, at = loop.place(turn);
    BoundPlan& frame = *frames[side];
    for (std::size_t i = 0; i < element_bytes.size(); ++i)
      frame.input(loop.carried.size() + i, static_cast<std::byte*>(mutable_data(loop.elements[i])) + at * element_bytes[i]);
    if (keeps) {
      for (std::size_t i = 0; i < loop.results; ++i) frame.output(loop.row(i), rows[i].at(at));
      for (std::size_t i = 0; i < loop.carried.size(); ++i)
        if (Rows& row = rows[loop.results + i]; row.kept() && row.size() > 0) std::memcpy(row.at(at), mutable_data(places[side][i]), row.size());
    }
    frame.run();
  }
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    if (outputs[i].defined()) copy_into(mutable_data(outputs[i]), places[turn & 1][i]);
    else outputs[i] = places[turn & 1][i];
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (Tensor& out = outputs[loop.carried.size() + i]; !out.defined()) out = rows[i].finish(turn);
}

// A loop of which nobody keeps rows and whose turns can be counted. False, and nothing has happened: there are none, or too many, or shapes change.
bool run_counted(Tensors& outputs, const LoopParts& loop, const Counting& counting) {
  const Tensor& counter = loop.carried[counting.counter];
  const std::int64_t start = integer_in(counter), end = counting.read < 0 ? counting.bound : integer_in(loop.read[static_cast<std::size_t>(counting.read)]);
  const std::int64_t turns = loop.go ? counting.turns(counter.dtype(), start, end) : kUnknown;
  if (turns == kUnknown) return false;
  std::vector<Tensor> left;
  Tensors made;
  const auto is_left = [&](std::size_t i) { return counting.kept || i != counting.counter; };
  for (std::size_t i = 0; i < loop.carried.size(); ++i)
    if (is_left(i)) left.push_back(loop.carried[i]), made.push_back(outputs[i]);
  const LoopParts rest(loop, *counting.rest, left, turns);
  const std::shared_ptr<const Plan> plan = rest.body.plan_for(rest.specs());
  if (!stays_fixed(rest, *plan)) return false;
  while (made.size() < 2 * left.size()) made.emplace_back();  // rows, which nobody reads
  run_fixed(rest, *plan, made, std::vector<bool>(left.size()));
  for (std::size_t i = 0, at = 0; i < loop.carried.size(); ++i)
    if (is_left(i)) outputs[i] = std::move(made[at++]);
  if (counting.kept) return true;
  Tensor& last = outputs[counting.counter];
  if (!last.defined()) last = make_tensor(counter.spec());
  const std::int64_t number = start + turns * counting.step;
  if (counter.dtype() == i32) *static_cast<std::int32_t*>(mutable_data(last)) = static_cast<std::int32_t>(number);
  else *static_cast<std::int64_t*>(mutable_data(last)) = number;
  return true;
}

// One tensor of rows that must be alike.
Tensor stacked(const KernelCall& call, const std::vector<Tensor>& rows, const Spec& if_none) {
  Spec row = rows.empty() ? row_of(if_none) : rows[0].spec();
  for (int axis = 0; axis < row.shape.rank(); ++axis)
    if (row.shape.dim(axis) == kUnknown) row.shape.set(axis, 0);
  Tensor whole = make_tensor(rows_of(row, static_cast<std::int64_t>(rows.size())));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].spec() != row)
      call.shape_error(unequal_turns(row, rows[i].spec()));
    copy_into(static_cast<std::byte*>(mutable_data(whole)) + i * bytes(row), rows[i]);
  }
  return whole;
}

void put(Tensor& out, Tensor value) {
  if (out.defined()) copy_into(mutable_data(out), value);
  else out = std::move(value);
}

// Shapes may change: each turn asks for its own plan.
void run_changing(KernelCall& call, const LoopParts& loop) {
  const Runner& body = loop.body;
  bool go = loop.go;
  std::vector<Tensor> carried, read;
  for (const Tensor& x : loop.carried) carried.push_back(with_own_memory(x));
  for (const Tensor& x : loop.read) read.push_back(with_own_memory(x));
  std::vector<std::vector<Tensor>> rows(loop.stacked());
  std::int64_t turn = 0;
  for (; go && turn != loop.turns; ++turn) {
    const std::size_t at = loop.place(turn);
    std::vector<Tensor> inputs = carried;
    for (const Tensor& whole : loop.elements) {
      inputs.push_back(make_tensor(row_of(whole.spec())));
      if (const std::size_t size = bytes(inputs.back().spec()); size > 0)
        std::memcpy(mutable_data(inputs.back()), static_cast<const std::byte*>(whole.node()->data) + at * size, size);
    }
    inputs.insert(inputs.end(), read.begin(), read.end());
    for (std::size_t i = 0; i < carried.size(); ++i) rows[loop.results + i].push_back(carried[i]);
    Tensors made = body.plan_for(specs_of(std::span<const Tensor>(inputs)))->run(inputs);
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = std::move(made[i]);
    if (loop.conditional) go = *elements<bool>(made[carried.size()]);
    for (std::size_t i = 0; i < loop.results; ++i) rows[i].push_back(std::move(made[loop.row(i)]));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) put(call.outputs[i], std::move(carried[i]));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t out = loop.carried.size() + i;
    if (!call.unread.empty() && call.unread[out]) continue;
    if (loop.reverse) std::reverse(rows[i].begin(), rows[i].end());
    put(call.outputs[out], stacked(call, rows[i], call.specs[out]));
  }
}

}  // namespace

void run_loop(KernelCall& call) {
  const Interpreter::Scope eager(nullptr);
  while (call.outputs.size() < call.specs.size()) call.outputs.emplace_back();
  const Region& region = region_of(call);
  const LoopParts loop(call, region);
  for (const Tensor& element : loop.elements)  // inference has seen to it, unless it could not know
    if (element.shape().dim(0) != loop.turns) call.shape_error(unequal_rows(loop.turns, element.shape().dim(0)));
  std::vector<bool> kept;  // kinds of rows that somebody reads
  for (std::size_t i = 0; i < loop.stacked(); ++i) kept.push_back(call.unread.empty() || !call.unread[loop.carried.size() + i]);
  if (const Counting* const counting = region.counted(); counting != nullptr && std::find(kept.begin(), kept.end(), true) == kept.end())
    if (run_counted(call.outputs, loop, *counting)) return;
  const std::shared_ptr<const Plan> plan = loop.body.plan_for(loop.specs());
  if (stays_fixed(loop, *plan)) run_fixed(loop, *plan, call.outputs, kept);
  else run_changing(call, loop);
}

}  // namespace weft::inline v0
