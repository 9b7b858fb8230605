#include "core/apply.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace weft::inline v0 {
namespace {

// Initial-exec: an access is one instruction instead of a call, and the pointer fits the space reserved for late-loaded libraries.
__attribute__((tls_model("initial-exec"))) thread_local Interpreter* stack_top = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local int scopes = 0;  // in which an interpreter is the top that others may link to

std::string argument(const Call& call, std::size_t i) {
  const OpArgs args{call.op, call.attrs, call.at};
  SmallVector<const Spec*, 4> none;
  return Infer{args, none}.name(i);
}

// Whether every handle is defined and no literal needs a dtype: true for nearly every call, so asked before anything is looked up.
bool plain_inputs(std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs)
    if (!input.defined() || input.node()->literal) return false;
  return true;
}

// As many inputs and attributes as the row declares. Generated functions cannot get it wrong; a file can.
bool well_formed(const Call& call) { return call.inputs.size() == call.op.inputs.size() && call.attrs.size() == call.op.attrs.size(); }

void check_inputs_exist(const Call& call) {
  const std::size_t declared = call.op.inputs.size();
  const bool list = call.op.list_input();
  if (list ? call.inputs.size() + 1 < declared : call.inputs.size() != declared)
    throw ValueError(call.op.name, std::to_string(call.inputs.size()) + " inputs are given; it takes " + std::to_string(list ? declared - 1 : declared) +
                                       (list ? " and a list." : "."), call.at);
  if (call.attrs.size() != call.op.attrs.size())
    throw ValueError(call.op.name, std::to_string(call.attrs.size()) + " attributes are given; it takes " + std::to_string(call.op.attrs.size()) + ".", call.at);
  if (list && call.inputs.size() < declared)
    throw ValueError(call.op.name, std::string(call.op.inputs.back().name) + " is an empty list; give at least one tensor.", call.at);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (!call.inputs[i].defined())
      throw ValueError(call.op.name, argument(call, i) + " is an empty Tensor handle; assign a value to it first.", call.at);
}

std::string literal_text(Literal number) {
  if (number.kind == Kind::boolean) return number.integer ? "true" : "false";
  if (number.kind == Kind::integer) return number.wide ? std::to_string(static_cast<std::uint64_t>(number.integer)) : std::to_string(number.integer);
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number.real);
  return text;
}

// Whether input i was written as a number. In a list, `stack({x, 1})`, the braces hold a second handle to it for as long as the call takes; a
// named tensor has a third.
bool is_bare_number(const Call& call, std::size_t i) {
  const Node& node = *call.inputs[i].node();
  return is_literal(call.inputs[i]) || (node.literal && input_of(call.op, i).list && node.count.load(std::memory_order_relaxed) == 2);
}

// A C++ number beside a tensor takes the tensor's dtype; beside other numbers only, the highest kind wins.
void adapt_literals(const Call& call) {
  std::size_t literals = 0, leader = call.inputs.size();
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (input_of(call.op, i).type != Input::Type::kCommon) continue;
    if (is_bare_number(call, i)) ++literals;
    else if (leader == call.inputs.size()) leader = i;
  }
  if (literals == 0) return;
  DType dtype = bool_;
  if (leader < call.inputs.size()) {
    dtype = call.inputs[leader].dtype();
  } else {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (input_of(call.op, i).type != Input::Type::kCommon) continue;
      const DType own = call.inputs[i].dtype();
      if (kind_of(own) > kind_of(dtype) || (kind_of(own) == kind_of(dtype) && size_of(own) > size_of(dtype))) dtype = own;
    }
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (input_of(call.op, i).type != Input::Type::kCommon || !is_bare_number(call, i)) continue;
    const Literal number = call.inputs[i].node()->number();
    if (call.inputs[i].dtype() == dtype) continue;
    if (number.kind > kind_of(dtype))
      throw DtypeError(call.op.name, "the number " + literal_text(number) + " for " + argument(call, i) + " is of a higher kind than " +
                                         argument(call, leader) + " " + call.inputs[leader].spec().str() + "; cast the tensor or pass another number.", call.at);
    if (!literal_fits(number, dtype))
      throw DtypeError(call.op.name, "the number " + literal_text(number) + " for " + argument(call, i) + " does not fit " + std::string(name_of(dtype)) +
                                         "; cast " + (leader < call.inputs.size() ? argument(call, leader) : "it") + " or pass a smaller number.", call.at);
    call.inputs[i] = make_scalar(number, dtype, call.inputs[i].node()->made_at());
  }
}

// The usual case of what is checked below: all inputs have one dtype, which the row takes.
bool is_of_one_dtype(const Call& call) {
  if (!call.op.of_one_dtype || call.inputs.empty()) return false;
  const DType first = call.inputs[0].node()->spec.dtype;
  bool all = (call.op.dtypes & bit(first)) != 0;
  for (const Tensor& input : call.inputs) all = all && input.node()->spec.dtype == first;
  return all;
}

void check_dtypes(const Call& call) {
  std::size_t first = call.inputs.size();
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Input& input = input_of(call.op, i);
    const DType dtype = call.inputs[i].node()->spec.dtype;
    if (!(allowed(call.op, input) & bit(dtype)))
      throw DtypeError(call.op.name, argument(call, i) + " is " + call.inputs[i].spec().str() + "; it must be " +
                                         dtypes_text(allowed(call.op, input)) + ", cast it.", call.at);
    if (input.type != Input::Type::kCommon) continue;
    if (first == call.inputs.size()) first = i;
    else if (call.inputs[first].node()->spec.dtype != dtype)
      throw DtypeError(call.op.name, argument(call, first) + " is " + call.inputs[first].spec().str() + " and " + argument(call, i) + " is " +
                                         call.inputs[i].spec().str() + "; tensors of two dtypes never mix, cast one of them.", call.at);
  }
}

// The alternative of Attr that holds a value of this kind.
std::size_t alternative(AttrKind kind) {
  switch (kind) {
    case AttrKind::kFlag: return Attr(false).index();
    case AttrKind::kReal: return Attr(0.0).index();
    case AttrKind::kDType: return Attr(f32).index();
    case AttrKind::kText: return Attr(std::string()).index();
    case AttrKind::kRegion: return Attr(std::shared_ptr<const Region>()).index();
    case AttrKind::kInteger:
    case AttrKind::kAxis:
    case AttrKind::kChoice: return Attr(std::int64_t{0}).index();
    case AttrKind::kList:
    case AttrKind::kAxes:
    case AttrKind::kShape:
    case AttrKind::kPairs: return Attr(Ints()).index();
  }
  return 0;
}

const char* kind_text(AttrKind kind) {
  switch (kind) {
    case AttrKind::kFlag: return "true or false";
    case AttrKind::kReal: return "a real number";
    case AttrKind::kDType: return "a dtype";
    case AttrKind::kText: return "text";
    case AttrKind::kRegion: return "graphs";
    case AttrKind::kInteger:
    case AttrKind::kAxis: return "an integer";
    case AttrKind::kChoice: return "one of its choices";
    default: return "a list of integers";
  }
}

void check_attr(const Call& call, const AttrDef& def, const Attr& value) {
  const auto refuse = [&](const std::string& rule) {
    throw ValueError(call.op.name, std::string(def.name) + " is " + attr_text(def, value) + "; " + rule, call.at);
  };
  const auto number = [](double v) { return v == std::floor(v) && std::abs(v) < 1e15 ? std::to_string(static_cast<std::int64_t>(v)) : std::to_string(v); };
  const auto in_range = [&](double v) {
    if (v >= def.low && v <= def.high) return;
    if (std::isinf(def.high)) refuse("it must be " + number(def.low) + " or more.");
    refuse("it must be from " + number(def.low) + " to " + number(def.high) + ".");
  };
  if (std::holds_alternative<std::monostate>(value) && def.optional) return;
  if (value.index() != alternative(def.kind)) refuse(std::string("it must be ") + kind_text(def.kind) + ".");
  switch (def.kind) {
    case AttrKind::kInteger: in_range(static_cast<double>(std::get<std::int64_t>(value))); break;
    case AttrKind::kReal: {
      const double v = std::get<double>(value);
      if (std::isnan(v)) refuse("it must be a number.");
      in_range(v);
      break;
    }
    case AttrKind::kChoice: {
      const auto v = std::get<std::int64_t>(value);
      if (v < 0 || v >= static_cast<std::int64_t>(def.choices.size())) refuse("it is not one of " + std::string(def.type) + "'s values.");
      break;
    }
    case AttrKind::kDType:
      if (static_cast<int>(std::get<DType>(value)) >= kNumDTypes) throw ValueError(call.op.name, std::string(def.name) + " is not a dtype.", call.at);
      break;
    case AttrKind::kList:
      for (std::int64_t v : std::get<Ints>(value)) in_range(static_cast<double>(v));
      break;
    default: break;  // axes and shapes depend on the inputs: `.infer` checks them
  }
}

template <class E>
void rethrow_as(const Error& error, const Op& op, const std::string& sentence, Location at) {
  if (dynamic_cast<const E*>(&error) != nullptr) throw E(op.name, sentence, at);
}

}  // namespace

void rethrow_in_name_of(const Op& op, Location at, const std::string& where) {
  try {
    throw;
  } catch (const Error& error) {
    const bool nameless = error.op().empty() || error.op() == "shape" || error.op() == "tensor";
    const bool part = !where.empty() || (op.expand != nullptr && error.op() != op.name);
    if (!nameless && !part) throw;
    const std::string sentence = where + (nameless && !error.op().empty() ? error.message().substr(error.op().size() + 2) : error.message());
    rethrow_as<ShapeError>(error, op, sentence, at);
    rethrow_as<DtypeError>(error, op, sentence, at);
    rethrow_as<IndexError>(error, op, sentence, at);
    rethrow_as<ValueError>(error, op, sentence, at);
    rethrow_as<OutOfMemoryError>(error, op, sentence, at);
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(op.name, "there is no memory for the result or for working space; use smaller shapes.", at);
  }
}

constinit thread_local OnBehalf* OnBehalf::current_ = nullptr;

bool is_own_line(Location at) {
  constexpr std::string_view here = __FILE__;
  constexpr std::string_view sources = here.substr(0, here.rfind("core/"));
  return std::string_view(at.file).starts_with(sources);
}

Interpreter* Interpreter::top() { return stack_top; }

bool is_live(const Tensor& symbol, const Interpreter* top) {
  while (top != nullptr && !top->owns(symbol)) top = top->below();
  return top != nullptr;
}

// An interpreter that is still installed when its thread ends is removed then: it may outlive the thread.
struct Interpreter::EndOfThread {
  ~EndOfThread() {
    while (Interpreter* const last = stack_top) {
      stack_top = last->below_;
      if (last->left_.exchange(true)) delete last;  // otherwise the owner may delete it from now on
    }
  }
};

// REQUIRES: no call is being delegated, so that nothing but the stack links to them.
void Interpreter::delete_retired() {
  for (Interpreter** link = &stack_top; *link != nullptr;) {
    Interpreter* const at = *link;
    if (at->left_) {
      *link = at->below_;
      delete at;
    } else {
      link = &at->below_;
    }
  }
}

void Interpreter::install() {
  static thread_local EndOfThread end_of_thread;
  static_cast<void>(end_of_thread);
  if (scopes == 0) delete_retired();
  below_ = stack_top;
  stack_top = this;
  installed_ = true;
}

void Interpreter::remove() {
  Interpreter** link = &stack_top;
  while (*link != nullptr && *link != this) link = &(*link)->below_;
  if (*link == nullptr) throw InternalError("an interpreter was removed from a thread that did not install it");
  *link = below_;
  installed_ = false;
}

bool Interpreter::installed_here() const {
  const Interpreter* at = stack_top;
  while (at != nullptr && at != this) at = at->below_;
  return at != nullptr;
}

void Interpreter::retire(std::unique_ptr<Interpreter> interpreter) {
  if (!interpreter->installed_) return;
  if (interpreter->installed_here()) return interpreter->remove();
  Interpreter* const shared = interpreter.release();
  if (shared->left_.exchange(true)) delete shared;
}

void Interpreter::delegate(Call call, Tensors& outputs) {
  const Scope scope(below_);
  if (below_ == nullptr) apply_eagerly(call, outputs);
  else below_->apply(call, outputs);
}

void Interpreter::wrote(const Tensor& numbers, Location at) {
  if (below_ != nullptr) below_->wrote(numbers, at);
}

void Interpreter::wrote_before(const Tensor& numbers, Location at) {
  if (below_ != nullptr) below_->wrote_before(numbers, at);
}

void Interpreter::stands_for(const Call& call, Tensors* results) {
  if (below_ != nullptr) below_->stands_for(call, results);
}

void Interpreter::stood_for() noexcept {
  if (below_ != nullptr) below_->stood_for();
}

Tensor Interpreter::read(std::uint64_t slot, const Variable& variable, Tensor value, Location at) {
  return below_ == nullptr ? value : below_->read(slot, variable, std::move(value), at);
}

Interpreter::Scope::Scope(Interpreter* interpreter) : before_(stack_top) {
  stack_top = interpreter;
  ++scopes;
}
Interpreter::Scope::~Scope() {
  stack_top = before_;
  --scopes;
}

// Small calls are made of such steps, so neither of the two functions below pays for one more.
[[gnu::always_inline]] static inline void apply_on_top(const Call& call, Tensors& outputs) {
  try {
    if (!well_formed(call) || !plain_inputs(call.inputs)) {
      check_inputs_exist(call);
      adapt_literals(call);
    }
    if (stack_top == nullptr) apply_eagerly(call, outputs);
    else stack_top->apply(call, outputs);
  } catch (...) {
    rethrow_in_name_of(call.op, call.at);
  }
}

void apply(Call call, Tensors& outputs) { apply_on_top(call, outputs); }

Tensor apply_one(const Op& op, std::span<Tensor> inputs, AttrSpan attrs, Location at) {
  if (stack_top == nullptr && op.dense_pointwise && plain_inputs(inputs)) try {
    if (Tensor result = apply_dense_pointwise(op, inputs); result.defined()) return result;
  } catch (...) {
    rethrow_in_name_of(op, at);
  }
  Tensors outputs;
  apply_on_top({op, inputs, attrs, at}, outputs);
  return std::move(outputs[0]);
}

Specs check(const Call& call) {
  if (!is_of_one_dtype(call)) check_dtypes(call);
  for (std::size_t i = 0; i < call.op.attrs.size(); ++i) {
    const AttrDef& def = call.op.attrs[i];
    const Attr& value = call.attrs[i];
    if (def.kind != AttrKind::kFlag || !std::holds_alternative<bool>(value)) check_attr(call, def, value);  // a flag has no range
  }
  SmallVector<const Spec*, 4> specs;
  for (const Tensor& input : call.inputs) specs.push_back(&input.node()->spec);
  Specs results = call.op.infer(Infer{{call.op, call.attrs, call.at}, specs});
  if (call.op.is(kView) && results[0].shape.known()) results[0].shape.num_elements();  // a view is never allocated, so nobody else would count
  return results;
}

// Sizes that are known have been checked for good.
InPlaceOf::InPlaceOf(const Call& call, Tensors* results) {
  if (stack_top == nullptr) return;
  if (results == nullptr && std::all_of(call.inputs.begin(), call.inputs.end(), [](const Tensor& x) { return x.node()->spec.shape.known(); })) return;
  stack_top->stands_for(call, results);
  told_ = stack_top;
}

void apply_rule(const Call& call, Tensors* results) {
  try {
    const Specs specs = check(call);
    const InPlaceOf rule(call, results);
    if (results != nullptr && results->empty())
      for (const Spec& spec : specs) results->push_back(make_symbolic(spec, call.at));
  } catch (...) {
    rethrow_in_name_of(call.op, call.at);
  }
}

void apply_parts(const Call& call, Tensors& outputs) {
  const InPlaceOf rule(call);
  const OnBehalf parts(OnBehalf::line(call.at));
  for (Tensor& result : call.op.expand(Expand{{call.op, call.attrs, call.at}, call.inputs})) outputs.push_back(std::move(result));
}

}  // namespace weft::inline v0
