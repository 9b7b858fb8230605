#include "tests/fuzz/machine.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <typeinfo>

namespace weft::fuzz {
namespace {

Tensor random_value(Random& random, Type type, int length = 0) {
  const Shape shape = shape_of(type, length);
  std::vector<float> numbers(static_cast<std::size_t>(shape.num_elements()));
  for (float& number : numbers) number = type.dtype == i32 ? static_cast<float>(random.below(6)) : random.real();
  return cast(Tensor(numbers, shape), type.dtype);
}

std::vector<Variable> first_variables(std::uint64_t seed) {
  Random random(seed);
  std::vector<Variable> slots;
  for (const Named& slot : kSlots) slots.emplace_back(random_value(random, slot.type), VariableOptions{.name = slot.name});
  return slots;
}

Seen seen_of(const Tensor& x) {
  const auto bytes = [](const auto& elements) {
    return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof elements[0]);
  };
  if (x.dtype() == f32) {
    std::vector<float> numbers = x.to_vector<float>();
    for (float& number : numbers)  // which of two NaNs a sum passes on, and so its sign, is up to the compiler (docs/inside.md)
      if (std::isnan(number)) number = std::numeric_limits<float>::quiet_NaN();
    return {x.spec(), bytes(numbers)};
  }
  return {x.spec(), x.dtype() == i32 ? bytes(x.to_vector<std::int32_t>()) : bytes(x.to_vector<std::int64_t>())};
}

// A scatter that fails eagerly names the Variable, one that is traced the op: both are left out.
template <class F>
std::string error_of(const F& call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    std::string sentence = error.message().substr(error.op().size() + 2);
    if (sentence.starts_with("for Variable")) sentence = sentence.substr(sentence.find(", ") + 2);
    return std::string(typeid(error).name()) + " in line " + std::to_string(error.location().line) + ": " + sentence;
  } catch (const std::out_of_range&) {
    throw;  // no program: a shrinker has taken a local away
  } catch (const std::exception& error) {
    return std::string(typeid(error).name()) + ": " + error.what();
  }
}

}  // namespace

std::string Seen::str() const {
  std::string text = spec.str();
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    float number;
    std::int32_t word;
    std::memcpy(&number, &bytes[i], 4), std::memcpy(&word, &bytes[i], 4);
    text += " " + (spec.dtype == f32 ? std::to_string(number) + "/" : "") + std::to_string(word);
  }
  return text;
}

Machine::Machine(const Program& program, Mode mode)
    : mode_(mode), slots_(first_variables(program.seed)), alias_(slots_[static_cast<std::size_t>(program.alias)]),
      interpreter_(program, mode) {
  for (int i = 0; i < kAlias; ++i) interpreter_.bind(i, slots_[static_cast<std::size_t>(i)], i);
  interpreter_.bind(kAlias, alias_, program.alias);
  FunctionOptions options{.name = "program", .reduce_retracing = program.sizes == Program::Sizes::kReduced, .warn_of_retraces = false,
                          .run_eagerly = mode == Mode::kUntraced};
  if (program.sizes == Program::Sizes::kDeclared)
    for (const Named& argument : kArguments)
      options.signature.push_back({argument.type.dtype, shape_of(argument.type, static_cast<int>(kUnknown))});
  if (program.form == Program::Form::kTree) of_tree_.emplace([this](Given given) { return body(given); }, options);
  else
    of_tensors_.emplace([this](Tensor x, Tensor v, Tensor m, Tensor i, Tensor u) {
      Given given{{x, v, m, i, u}, {}};
      return body(given)[0];
    }, options);
}

std::vector<Tensor> Machine::body(Given& given) {
  for (std::size_t i = 0; i < given.passed.size(); ++i) interpreter_.bind(kPassed + static_cast<int>(i), given.passed[i], passed_[i]);
  return interpreter_.run(given.values);
}

std::vector<Tensor> Machine::call_with(Given given) {
  const Location at = Location::here("program", 0, "program");
  if (mode_ == Mode::kEager || mode_ == Mode::kMixed) return atomically([&] { return body(given); }, {}, at);
  if (of_tree_) return (*of_tree_)(std::move(given), at);
  const std::vector<Tensor>& x = given.values;
  return {(*of_tensors_)(x[0], x[1], x[2], x[3], x[4], at)};
}

Outcome Machine::run(const Call& call) {
  Random random(call.values);
  Given given;
  for (const Named& argument : kArguments) given.values.push_back(random_value(random, argument.type, call.length));
  given.values[3] = Tensor(call.index);
  for (const int slot : call.passed) given.passed.push_back(slots_[static_cast<std::size_t>(slot)]);
  passed_ = call.passed;
  if (call.written_before >= 0) {
    const auto slot = static_cast<std::size_t>(call.written_before);
    slots_[slot].assign(random_value(random, kSlots[slot].type));
  }

  Outcome outcome;
  interpreter_.begin_call();
  outcome.error = error_of([&] {
    for (const Tensor& result : call_with(std::move(given))) outcome.results.push_back(seen_of(result));
  });
  for (const Variable& v : slots_) {
    outcome.variables.push_back(seen_of(v));
    outcome.versions.push_back(v.version());
  }
  outcome.variables.push_back(seen_of(interpreter_.random_state()));

  seen_ |= interpreter_.seen();
  const auto see = [&](Feature feature, bool happened) {
    if (happened) seen_.set(static_cast<std::size_t>(feature));
  };
  see(Feature::kThrows, !outcome.error.empty());
  see(Feature::kThrowsAfterWrite, !outcome.error.empty() && interpreter_.writes() > 0);
  if (mode_ == Mode::kTraced) see(Feature::kRetraces, (of_tree_ ? of_tree_->explain() : of_tensors_->explain()).traced > 1);
  return outcome;
}

}  // namespace weft::fuzz
