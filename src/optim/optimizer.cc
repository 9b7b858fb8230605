#include "optim/book.h"

#include <algorithm>
#include <limits>

#include "graph/replay.h"
#include "graph/tracer.h"
#include "optim/limits.h"
#include "state/installed.h"
#include "state/slot.h"
#include <weft/function.h>
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/print.h>
#include <weft/transaction.h>

namespace weft::inline v0 {

// --- LearningRate ---

Tensor LearningRate::at(const Tensor& iterations, Location at) const {
  if (schedule_ == nullptr) return value(at);
  Tensor rate = schedule_(iterations);
  if (rate.rank() != 0)
    throw ShapeError("LearningRate", format("the schedule gave {}; a learning rate is a scalar.", rate.spec().str()), at);
  return cast(std::move(rate), f32, at);
}

LearningRate& LearningRate::assign(Tensor rate, Location at) {
  if (scheduled())
    throw StateError("LearningRate",
                     "a schedule decides on the learning rate; make the optimizer with a number or a Variable to assign one.", at);
  if (current) current->assign(std::move(rate), at);
  else number_ = cast(std::move(rate), f64, at).item<double>(at);
  return *this;
}

Tensor LearningRate::value(Location at) const {
  if (scheduled()) throw StateError("LearningRate", "a schedule decides on the learning rate; ask it, or at(iterations).", at);
  return current ? current->value(at) : Tensor(number_, f32, at);
}

// --- what an optimizer keeps ---

Optimizer::Optimizer(const char* name, OptimizerOptions options, std::vector<std::string> slot_names, Location at)
    : iterations(Tensor(0, i64), {.name = "iterations", .trainable = false}, at),
      learning_rate(options.learning_rate),
      name_(name),
      options_(std::move(options)),
      slot_names_(std::move(slot_names)),
      book_(std::make_unique<Book>()) {
  const OptimizerOptions& o = options_;
  if (o.clipnorm.has_value() + o.global_clipnorm.has_value() + o.clipvalue.has_value() > 1)
    throw ValueError(name_, "more than one of clipnorm, global_clipnorm and clipvalue is given; give one.", at);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  require(name_, {{"learning_rate", learning_rate.number_, Limit::kFinite},
                  {"weight_decay", o.weight_decay, Limit::kNotNegative},
                  {"clipnorm", o.clipnorm.value_or(kNone), Limit::kBound},
                  {"global_clipnorm", o.global_clipnorm.value_or(kNone), Limit::kBound},
                  {"clipvalue", o.clipvalue.value_or(kNone), Limit::kBound},
                  {"ema_momentum", o.ema_momentum, Limit::kUnit},
                  {"ema_overwrite_frequency", static_cast<double>(o.ema_overwrite_frequency), Limit::kCount},
                  {"loss_scale_factor", o.loss_scale_factor, Limit::kPositive},
                  {"gradient_accumulation_steps", static_cast<double>(o.gradient_accumulation_steps), Limit::kCountFromOne}}, at);
  if (!learning_rate.scheduled() && !learning_rate.current)
    learning_rate.current.emplace(Tensor(learning_rate.number_, f32), VariableOptions{.name = "learning_rate", .trainable = false}, at);
}

Optimizer::~Optimizer() = default;

Tensor Optimizer::Moment::rate_like(const Tensor& x) const { return cast(learning_rate, x.dtype()); }
Tensor Optimizer::Moment::step_like(const Tensor& x) const { return cast(iterations + 1, x.dtype()); }

Tensor Optimizer::first_slot(std::size_t, const Tensor& x, const std::string&) const { return zeros_like(x); }
Tensor Optimizer::size_of_gradient(const Tensor& g) const { return square(g); }

void Optimizer::update_all(Batch& batch, const Moment& now) {
  const std::size_t count = batch.gradients.size();
  std::vector<Tensor> own(slot_names_.size());
  for (std::size_t i = 0; i < count; ++i) {
    Tensor& x = batch.tensors[i];
    if (batch.weight_decay != 0) x = x - x * (now.rate_like(x) * batch.weight_decay);
    for (std::size_t s = 0; s < own.size(); ++s) own[s] = batch.tensors[(s + 1) * count + i];
    x = update(x, batch.gradients[i], own, now);
    for (std::size_t s = 0; s < own.size(); ++s) batch.tensors[(s + 1) * count + i] = std::move(own[s]);
  }
}

namespace {

// What `make` makes of a value whose numbers nobody knows yet: what it makes of any, unless it uses them. Then it is an empty handle.
Tensor made_of_unknown(const Tensor& x, const std::function<Tensor(const Tensor&)>& make) {
  Graph graph;
  {
    Installed<Tracer> tracer(graph);
    const Tensor made = make(tracer.interpreter.input(x.spec(), {}));
    if (!made.defined()) return made;
    graph.outputs = {tracer.interpreter.value_of(made, nullptr, {})};
  }
  return known_value(graph, graph.outputs[0]);
}

}  // namespace

// REQUIRES: the book is locked.
const Optimizer::Record& Optimizer::record_of(const Variable& variable, std::string_view key, Location at) {
  if (const auto found = book_->records.find(variable.id()); found != book_->records.end()) return found->second;
  Record record{.key = std::string(key), .slots = {}, .sum = {}, .average = {}};
  for (int n = 2; slots.contains(record.key); ++n) record.key = std::string(key) + "_" + std::to_string(n);
  const detail::Outside outside;  // slots are made once, whether the step is traced or not
  const Tensor x = variable.value();
  std::map<std::string, Variable> named;
  const auto add = [&](const std::string& name, Tensor value) {
    return named.emplace(name, Variable(std::move(value), {.name = record.key + "." + name, .trainable = false})).first->second;
  };
  for (std::size_t i = 0; i < slot_names_.size(); ++i) {
    const bool unknown = variable.slot()->first_unknown;
    Tensor first = unknown ? made_of_unknown(x, [&](const Tensor& like) { return first_slot(i, like, record.key); }) : first_slot(i, x, record.key);
    if (unknown && !first.defined())
      throw StateError(name_, variable.slot()->title() + " has a first value that only sessions know, and this optimizer begins with it; give one "
                                                         "that is known while the graph is built.", at);
    record.slots.push_back(add(slot_names_[i], std::move(first)));
  }
  if (options_.gradient_accumulation_steps > 1) record.sum.emplace(add("gradient_sum", zeros_like(x)));
  if (options_.use_ema) record.average.emplace(add("average", zeros_like(x)));
  const auto kept = book_->records.emplace(variable.id(), std::move(record)).first;
  try {
    slots.emplace(kept->second.key, std::move(named));
  } catch (...) {
    book_->records.erase(kept);
    throw;
  }
  return kept->second;
}

std::shared_ptr<const Optimizer::Plan> Optimizer::plan_for(std::span<const Variable* const> variables,
                                                           std::span<const std::string_view> keys, Location at) {
  const std::lock_guard guard(book_->lock);
  const auto same = [&](const Plan& plan) {
    return plan.ids.size() == variables.size() && std::equal(plan.ids.begin(), plan.ids.end(), variables.begin(),
                                                             [](std::uint64_t id, const Variable* v) { return id == v->id(); });
  };
  if (book_->last != nullptr && same(*book_->last)) return book_->last;
  std::unordered_set<std::uint64_t> met;
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (!met.insert(variables[i]->id()).second)
      throw ValueError(name_, format("{} is named twice; give one gradient for each Variable.", keys[i]), at);
  const auto plan = std::make_shared<Plan>();
  std::vector<const Record*> records;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    records.push_back(&record_of(*variables[i], keys[i], at));
    plan->ids.push_back(variables[i]->id());
    plan->keys.push_back(records[i]->key);
    plan->decays.push_back(!book_->undecayed.contains(variables[i]->id()));
    plan->constrained = plan->constrained || variables[i]->constraint() != nullptr;
  }
  plan->writes.push_back(iterations);
  for (const Variable* variable : variables) plan->writes.push_back(*variable);
  for (std::size_t s = 0; s < slot_names_.size(); ++s)
    for (const Record* record : records) plan->writes.push_back(record->slots[s]);
  for (const Record* record : records)
    if (record->sum) plan->writes.push_back(*record->sum);
  for (const Record* record : records)
    if (record->average) plan->writes.push_back(*record->average);
  return book_->last = plan;
}

std::int64_t Optimizer::steps() const { return iterations.value().item<std::int64_t>() / options_.gradient_accumulation_steps; }

void Optimizer::exclude_from_weight_decay(const std::vector<Variable>& variables) {
  const std::lock_guard guard(book_->lock);
  for (const Variable& variable : variables) book_->undecayed.insert(variable.id());
  book_->last = nullptr;
}

Tensor Optimizer::average(const Variable& variable, Location at) const {
  const std::lock_guard guard(book_->lock);
  const auto found = book_->records.find(variable.id());
  if (found == book_->records.end() || !found->second.average)
    throw StateError(name_, format("there is no average of {}; set use_ema and apply a step first.", variable.name()), at);
  return found->second.average->value(at);
}

void Optimizer::assign_averages(const std::vector<Variable>& variables, Location at) {
  atomically([&] {
    for (Variable variable : variables) variable.assign(average(variable, at), at);
  }, {}, at);
}

}  // namespace weft::inline v0
