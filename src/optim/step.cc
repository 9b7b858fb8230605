// A step, from gradients to new values, in the order of Keras: unscale, accumulate, clip, decay and update, average, constrain, count.
#include <algorithm>
#include <cstdio>

#include "core/apply.h"
#include "core/infer.h"
#include "optim/book.h"
#include "state/slot.h"
#include <weft/control.h>
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/print.h>
#include <weft/update.h>

namespace weft::inline v0 {
namespace {

// The same change to the numbers of a gradient, dense or sparse.
template <class F>
Grad changed(const Grad& g, const F& f) {
  if (!g.sparse()) return f(g.dense());
  return IndexedSlices{f(g.slices().values), g.slices().indices, g.slices().like};
}

const Tensor& numbers(const Grad& g, Tensor& dense) { return g.sparse() ? g.slices().values : (dense = g.dense()); }

}  // namespace

std::string listed(std::span<const std::string_view> keys) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, keys.size()); ++i) text += (i == 0 ? "" : ", ") + std::string(keys[i]);
  return keys.size() > most ? text + " and " + std::to_string(keys.size() - most) + " more" : text;
}

// One step of one optimizer. `values` are those of Plan::writes; what they are at the end is published.
class Optimizer::Run {
 public:
  Run(Optimizer& optimizer, const Plan& plan, std::span<const Variable* const> variables, std::vector<Grad> gradients,
      std::span<Tensor> values, Location at)
      : optimizer_(optimizer),
        options_(optimizer.options_),
        plan_(plan),
        variables_(variables),
        gradients_(std::move(gradients)),
        at_(at),
        count_(variables.size()),
        iterations_(values[0]),
        xs_(values.subspan(1, count_)),
        slots_(values.subspan(1 + count_, optimizer.slot_names_.size() * count_)) {
    std::span<Tensor> rest = values.subspan(1 + count_ + slots_.size());
    if (options_.gradient_accumulation_steps > 1) sums_ = rest.first(count_), rest = rest.subspan(count_);
    if (options_.use_ema) averages_ = rest;
  }

  void step() {
    if (options_.loss_scale_factor != 1) each([&](const Tensor& g) { return g / options_.loss_scale_factor; });
    Tensor next = iterations_ + 1;
    if (options_.gradient_accumulation_steps == 1) move(iterations_);
    else accumulate(next);
    if (options_.use_ema) average();
    if (plan_.constrained)
      for (std::size_t i = 0; i < count_; ++i)
        if (const auto& constraint = variables_[i]->constraint()) xs_[i] = constraint(xs_[i]);
    iterations_ = std::move(next);
  }

 private:
  template <class F>
  void each(const F& f) {
    for (Grad& g : gradients_) g = changed(g, f);
  }

  // `before`: the steps so far.
  void move(const Tensor& before) {
    clip();
    update({.learning_rate = optimizer_.learning_rate.at(before, at_), .iterations = before});
  }

  // Every so many calls a step is made, with the mean of the gradients since the last one. The count of calls has no value while the step is
  // traced: then both ways become part of the trace, so each starts from what there was.
  void accumulate(const Tensor& calls) {
    const std::int64_t every = options_.gradient_accumulation_steps;
    const std::span<Tensor> values(xs_.data(), xs_.size() + slots_.size() + sums_.size());
    const std::vector<Tensor> before(values.begin(), values.end());
    std::vector<Tensor> totals;
    for (std::size_t i = 0; i < count_; ++i) totals.push_back(gradients_[i].dense() + sums_[i]);
    const auto complete = [&] {
      for (std::size_t i = 0; i < count_; ++i) gradients_[i] = totals[i] / static_cast<double>(every);
      move(floordiv(iterations_, every));
      for (Tensor& sum : sums_) sum = zeros_like(sum);
      return std::vector<Tensor>(values.begin(), values.end());
    };
    const auto incomplete = [&] {
      std::copy(before.begin(), before.end(), values.begin());
      std::copy(totals.begin(), totals.end(), sums_.begin());
      return std::vector<Tensor>(values.begin(), values.end());
    };
    const std::vector<Tensor> after = cond(calls % every == 0, complete, incomplete);
    std::copy(after.begin(), after.end(), values.begin());
  }

  void clip() {
    if (options_.clipvalue) each([&](const Tensor& g) { return clip_by_value(g, -*options_.clipvalue, *options_.clipvalue, at_); });
    if (options_.clipnorm) each([&](const Tensor& g) { return clip_by_norm(g, *options_.clipnorm, {}, at_); });
    if (!options_.global_clipnorm) return;
    // Of all dtypes together, in f32 at least.
    std::vector<Tensor> parts;
    for (const Grad& g : gradients_) {
      Tensor dense;
      const Tensor& x = numbers(g, dense);
      parts.push_back(x.dtype() == f64 ? x : cast(x, f32));
    }
    const bool wide = std::any_of(parts.begin(), parts.end(), [](const Tensor& x) { return x.dtype() == f64; });
    if (wide)
      for (Tensor& part : parts) part = cast(part, f64);
    parts = clip_by_global_norm(parts, *options_.global_clipnorm, at_);
    for (std::size_t i = 0; i < count_; ++i)
      gradients_[i] = changed(gradients_[i], [&](const Tensor& g) { return cast(parts[i], g.dtype()); });
  }

  // Variables that have dtype, decay and form of gradient in common are updated together.
  struct Kind {
    DType dtype;
    bool decays, sparse;
    bool operator==(const Kind&) const = default;
  };

  void update(const Moment& now) {
    const bool by_rows = optimizer_.zero_changes_nothing() || options_.lazy;
    std::vector<bool> done(count_);
    for (std::size_t first = 0; first < count_; ++first) {
      if (done[first]) continue;
      const Kind kind = kind_of(first);
      std::vector<std::size_t> members;
      for (std::size_t i = first; i < count_; ++i)
        if (!done[i] && kind_of(i) == kind) {
          members.push_back(i);
          done[i] = true;
        }
      if (kind.sparse && by_rows)
        for (const std::size_t i : members) update_rows(i, kind, now);
      else update_whole(members, kind, now);
    }
  }
  Kind kind_of(std::size_t i) const { return {xs_[i].dtype(), plan_.decays[i] && options_.weight_decay != 0, gradients_[i].sparse()}; }

  void update_whole(std::span<const std::size_t> members, Kind kind, const Moment& now) {
    Batch batch;
    batch.weight_decay = kind.decays ? options_.weight_decay : 0;
    const std::size_t lists = 1 + slots_.size() / count_;
    batch.tensors.reserve(lists * members.size());
    for (const std::size_t i : members) {
      batch.gradients.push_back(gradients_[i].dense());
      if (kind.sparse)
        batch.sizes.push_back(changed(gradients_[i], [&](const Tensor& g) { return optimizer_.size_of_gradient(g); }).dense());
      batch.keys.push_back(plan_.keys[i]);
    }
    // From here on the values are only in the batch: a rule may change them where they lie.
    for (std::size_t list = 0; list < lists; ++list)
      for (const std::size_t i : members) batch.tensors.push_back(std::move(place(list, i)));
    optimizer_.update_all(batch, now);
    for (std::size_t list = 0; list < lists; ++list)
      for (std::size_t k = 0; k < members.size(); ++k) place(list, members[k]) = std::move(batch.tensors[list * members.size() + k]);
  }

  void update_rows(std::size_t i, Kind kind, const Moment& now) {
    const IndexedSlices& slices = gradients_[i].slices();
    if (kind.decays) xs_[i] = xs_[i] - xs_[i] * (now.rate_like(xs_[i]) * options_.weight_decay);
    const UniqueResult rows = unique(slices.indices);
    const auto summed = [&](const Tensor& g) { return unsorted_segment_sum_like(g, rows.index, rows.values); };
    Batch batch{.tensors = {},
                .gradients = {summed(slices.values)},
                .sizes = {summed(optimizer_.size_of_gradient(slices.values))},
                .keys = {plan_.keys[i]}};
    const std::size_t lists = 1 + slots_.size() / count_;
    for (std::size_t list = 0; list < lists; ++list) batch.tensors.push_back(gather(place(list, i), rows.values));
    optimizer_.update_all(batch, now);
    const Tensor at = expand_dims(rows.values, 1);
    for (std::size_t list = 0; list < lists; ++list)
      place(list, i) = tensor_scatter_nd_update(std::move(place(list, i)), at, batch.tensors[list]);
  }
  Tensor& place(std::size_t list, std::size_t i) { return list == 0 ? xs_[i] : slots_[(list - 1) * count_ + i]; }

  void average() {
    const Tensor before = floordiv(iterations_, options_.gradient_accumulation_steps), first = before == 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto unless_first = [&](double now, double later) { return where(first, Tensor(now, xs_[i].dtype()), Tensor(later, xs_[i].dtype())); };
      averages_[i] = averages_[i] * unless_first(0, options_.ema_momentum) + xs_[i] * unless_first(1, 1 - options_.ema_momentum);
    }
    if (options_.ema_overwrite_frequency == 0) return;
    const std::vector<Tensor> after = cond((before + 1) % options_.ema_overwrite_frequency == 0,
                                           [&] { return std::vector<Tensor>(averages_.begin(), averages_.end()); },
                                           [&] { return std::vector<Tensor>(xs_.begin(), xs_.end()); });
    std::copy(after.begin(), after.end(), xs_.begin());
  }

  Optimizer& optimizer_;
  const OptimizerOptions& options_;
  const Plan& plan_;
  std::span<const Variable* const> variables_;
  std::vector<Grad> gradients_;
  Location at_;
  std::size_t count_;
  Tensor& iterations_;
  std::span<Tensor> xs_, slots_, sums_{}, averages_{};
};

void Optimizer::apply(std::span<const Grad> gradients, std::span<const Variable* const> variables, std::span<const std::string_view> keys,
                      Location at) {
  const OnBehalf line(at);
  std::vector<Grad> present;
  std::vector<const Variable*> changing;
  std::vector<std::string_view> names, missing;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!gradients[i].present()) {
      missing.push_back(keys[i]);
      continue;
    }
    const Tensor like = gradients[i].sparse() ? gradients[i].slices().like : gradients[i].dense();
    const Spec& spec = variables[i]->spec();
    const bool same_dtype = like.dtype() == spec.dtype;
    if (!same_dtype || !infer::compatible(like.shape(), spec.shape)) {
      const std::string called = keys[i].empty() ? variables[i]->slot()->title() : std::string(keys[i]);
      const std::string both = format("the gradient of {} is {}, but {} is {}; ", called, like.spec().str(), called, spec.str());
      if (!same_dtype) throw DtypeError(name_, both + "the dtypes must agree, cast the gradient.", at);
      throw ShapeError(name_, both + "they must agree.", at);
    }
    present.push_back(gradients[i]);
    changing.push_back(variables[i]);
    names.push_back(keys[i]);
  }
  if (variables.empty()) throw ValueError(name_, "there are no trainable Variables to change.", at);
  if (present.empty())
    throw ValueError(name_, format("no gradient is given for {}; compute the loss from them while the tape records.", listed(missing)), at);
  if (!missing.empty()) warn(missing);
  const std::shared_ptr<const Plan> plan = plan_for(changing, names, at);
  // Where nothing looks at what a rule has made, the rule may wait for the publication and change the values where they lie.
  const bool in_place = !options_.use_ema && !plan->constrained && options_.gradient_accumulation_steps == 1;
  update_together(
      plan->writes, [&](std::span<Tensor> values) { Run(*this, *plan, changing, present, values, at).step(); },
      {.by = name_, .in_place = in_place}, at);
}

void Optimizer::warn(std::span<const std::string_view> missing) {
  {
    const std::lock_guard guard(book_->lock);
    if (book_->warned) return;
    book_->warned = true;
  }
  std::fputs(format("weft: {}: no gradient for {}; what has none stays as it is.\n", name_, listed(missing)).c_str(), stderr);
}

void Optimizer::apply(const std::vector<Grad>& gradients, const std::vector<Variable>& variables, Location at) {
  if (gradients.size() != variables.size())
    throw ValueError(name_, format("{} gradients are given for {} Variables; give one for each.", gradients.size(), variables.size()), at);
  std::vector<const Variable*> list;
  std::vector<std::string_view> keys;
  for (const Variable& variable : variables) {
    list.push_back(&variable);
    keys.push_back(variable.name());
  }
  apply(std::span<const Grad>(gradients), list, keys, at);
}

void Optimizer::apply(const Gradients& gradients, const NamedVariables& variables, Location at) {
  std::vector<const Variable*> list;
  std::vector<std::string_view> keys;
  std::vector<Grad> found;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables.values()[i];
    list.push_back(&variable);
    keys.push_back(variables.path(i));
    found.push_back(gradients.contains(variable) ? gradients[variable] : Grad());
  }
  apply(std::span<const Grad>(found), list, keys, at);
}

}  // namespace weft::inline v0
