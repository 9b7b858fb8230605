// Tangents of calls that run graphs: the same call of graphs that carry tangents along.
#include <algorithm>

#include "graph/region_parts.h"
#include "state/building.h"
#include "state/regions.h"
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

std::vector<bool> moves_of(const Forward& f, std::size_t skipped) {
  std::vector<bool> moves;
  for (std::size_t i = skipped; i < f.inputs.size(); ++i) moves.push_back(f.moves(i));
  return moves;
}

void require_no_error(const Derived& way) {
  for (const std::exception_ptr& error : way.errors)
    if (error != nullptr) std::rethrow_exception(error);
}

std::size_t index(std::int32_t at) { return static_cast<std::size_t>(at); }

}  // namespace

Moved move_call(const Forward& f) {
  const std::shared_ptr<const Derived> way = derived_forward(*region_of(f).bodies[0], moves_of(f, 0));
  std::vector<Tensor> inputs(f.inputs.begin(), f.inputs.end());
  for (const Tensor& tangent : f.tangents)
    if (tangent.defined()) inputs.push_back(tangent);
  const Tensors made = call_graph(*way->forward, inputs, f.at);
  Moved moved{.outputs = {}, .tangents = {}, .errors = way->errors};
  for (std::size_t i = 0; i < way->results; ++i) {
    moved.outputs.push_back(made[i]);
    moved.tangents.push_back(way->gradients[i].at < 0 ? Tensor() : made[index(way->gradients[i].at)]);
  }
  return moved;
}

// A result moves if it does in one of the branches; in the others it moves by zero.
Moved move_switch(const Forward& f) {
  const Region& region = region_of(f);
  const std::vector<bool> moves = moves_of(f, 1);
  std::vector<std::shared_ptr<const Derived>> ways;
  for (const std::shared_ptr<const Runner>& body : region.bodies) ways.push_back(derived_forward(*body, moves));
  const std::size_t results = ways[0]->results;
  Moved moved;
  std::vector<bool> result_moves(results);
  for (const std::shared_ptr<const Derived>& way : ways)
    for (std::size_t i = 0; i < results; ++i) {
      result_moves[i] = result_moves[i] || way->gradients[i].at >= 0;
      if (way->errors.empty() || way->errors[i] == nullptr) continue;
      moved.errors.resize(results);
      moved.errors[i] = way->errors[i];
    }
  Region both{.bodies = {}, .may_miss = region.may_miss};
  for (const std::shared_ptr<const Derived>& way : ways) {
    Building building(way->forward->graph());
    std::vector<Tensor> inputs;
    for (const ValueId id : way->forward->graph().inputs) inputs.push_back(building.tracer.input(way->forward->graph().values[id].spec, {}));
    const Tensors made = way->forward->run(inputs);
    for (std::size_t i = 0; i < results; ++i) building.returns(made[i]);
    for (std::size_t i = 0; i < results; ++i)
      if (result_moves[i]) building.returns(way->gradients[i].at >= 0 ? made[index(way->gradients[i].at)] : zeros_like(made[i]));
    both.bodies.push_back(building.finish());
  }
  std::vector<Tensor> inputs(f.inputs.begin(), f.inputs.end());
  for (const Tensor& tangent : f.tangents)
    if (tangent.defined()) inputs.push_back(tangent);
  const Tensors made = apply_region(f.op, inputs, std::move(both), f.at);
  std::size_t next = results;
  for (std::size_t i = 0; i < results; ++i) {
    moved.outputs.push_back(made[i]);
    moved.tangents.push_back(result_moves[i] ? made[next++] : Tensor());
  }
  return moved;
}

namespace {

// A loop of both. Its inputs are those of the loop, the tangents of each kind behind their kind. A carried value moves if it does in the
// beginning or after some turn.
class MovedLoop {
 public:
  explicit MovedLoop(const Forward& f)
      : f_(f), region_(region_of(f)), first_(region_.conditional ? 1 : 0), n_(region_.carried), m_(region_.elements), moves_(moves_of(f, first_)) {
    for (bool settled = false; !settled;) {
      way_ = derived_forward(*region_.bodies[0], moves_);
      require_no_error(*way_);
      settled = true;
      for (std::size_t i = 0; i < n_; ++i) {
        settled = settled && (moves_[i] || !result_moves(i));
        moves_[i] = moves_[i] || result_moves(i);
      }
    }
    rows_ = way_->results - n_ - first_;
  }

  Moved run() {
    Region both{.bodies = {body()}, .carried = n_ + count(0, n_), .elements = m_ + count(n_, n_ + m_), .conditional = region_.conditional,
                .reverse = region_.reverse};
    std::vector<Tensor> inputs(f_.inputs.begin(), f_.inputs.begin() + static_cast<std::ptrdiff_t>(first_));
    append_kind(inputs, 0, n_);
    append_kind(inputs, n_, n_ + m_);
    append_kind(inputs, n_ + m_, moves_.size());
    const std::size_t carried = both.carried;
    const Tensors made = apply_region(f_.op, inputs, std::move(both), f_.at);

    Moved moved;
    const auto take = [&](std::size_t at, std::size_t values, auto has_tangent) {  // values of a kind, and behind them their tangents
      std::size_t next = at + values;
      for (std::size_t i = 0; i < values; ++i) {
        moved.outputs.push_back(made[at + i]);
        moved.tangents.push_back(has_tangent(i) ? made[next++] : Tensor());
      }
      return next;
    };
    const auto carries = [&](std::size_t i) { return static_cast<bool>(moves_[i]); };
    const std::size_t rows_at = take(0, n_, carries);
    const std::size_t starts_at = take(rows_at, rows_, [&](std::size_t i) { return result_moves(n_ + first_ + i); });
    if (rows_at != carried || take(starts_at, n_, carries) != made.size()) throw InternalError("a loop of values and tangents has other results");
    return moved;
  }

 private:
  bool result_moves(std::size_t i) const { return way_->gradients[i].at >= 0; }
  std::size_t count(std::size_t from, std::size_t to) const {
    return static_cast<std::size_t>(std::count(moves_.begin() + static_cast<std::ptrdiff_t>(from), moves_.begin() + static_cast<std::ptrdiff_t>(to), true));
  }
  void append_kind(std::vector<Tensor>& inputs, std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) inputs.push_back(f_.x(first_ + i));
    for (std::size_t i = from; i < to; ++i)
      if (moves_[i]) inputs.push_back(f_.moves(first_ + i) ? f_.tangents[first_ + i] : zeros_like(f_.x(first_ + i)));
  }

  std::shared_ptr<const Runner> body() const {
    const Graph& graph = way_->forward->graph();
    Building building(region_.bodies[0]->graph());
    std::vector<Tensor> values(moves_.size()), tangents(moves_.size());
    const auto kind = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) values[i] = building.tracer.input(graph.values[graph.inputs[i]].spec, {});
      for (std::size_t i = from; i < to; ++i)
        if (moves_[i]) tangents[i] = building.tracer.input(values[i].spec(), {});
    };
    kind(0, n_);
    kind(n_, n_ + m_);
    kind(n_ + m_, moves_.size());
    std::vector<Tensor> inputs = values;
    for (const Tensor& tangent : tangents)
      if (tangent.defined()) inputs.push_back(tangent);
    const Tensors made = way_->forward->run(inputs);
    const auto tangent_of = [&](std::size_t i) { return result_moves(i) ? made[index(way_->gradients[i].at)] : zeros_like(made[i]); };
    for (std::size_t i = 0; i < n_; ++i) building.returns(made[i]);
    for (std::size_t i = 0; i < n_; ++i)
      if (moves_[i]) building.returns(tangent_of(i));
    for (std::size_t i = n_; i < way_->results; ++i) building.returns(made[i]);  // go, and rows
    for (std::size_t i = n_ + first_; i < way_->results; ++i)
      if (result_moves(i)) building.returns(tangent_of(i));
    return building.finish();
  }

  const Forward& f_;
  const Region& region_;
  const std::size_t first_, n_, m_;  // go, carried values, elements
  std::vector<bool> moves_;          // of the inputs behind `go`
  std::shared_ptr<const Derived> way_;
  std::size_t rows_ = 0;  // kinds of rows that a turn makes
};

}  // namespace

Moved move_loop(const Forward& f) { return MovedLoop(f).run(); }

}  // namespace weft::inline v0
