#include <weft/tensor.h>

#include <utility>

#include "base/checked.h"
#include "base/convert.h"
#include "core/apply.h"
#include "core/node.h"

namespace weft::inline v0 {

std::int64_t bytes_of(const Spec& spec) {
  const auto bytes = checked_mul(spec.shape.num_elements(), static_cast<std::int64_t>(size_of(spec.dtype)));
  if (!bytes) throw ShapeError("tensor", spec.str() + " needs more bytes than 63 bits can count.", {});
  return *bytes;
}

namespace {

void require_dtype(DType dtype, const char* what, Location at) {
  if (static_cast<int>(dtype) >= kNumDTypes)
    throw ValueError(what, "dtype " + std::to_string(static_cast<int>(dtype)) + " is not one of DType's values; name one of those.", at);
}

DType literal_dtype(Literal number) {
  if (number.kind == Kind::boolean) return bool_;
  if (number.kind == Kind::floating) return f32;
  if (number.wide) return u64;
  return std::in_range<std::int32_t>(number.integer) ? i32 : i64;
}

[[noreturn]] void fail_undefined() {
  throw ValueError("tensor", "this Tensor handle is empty; assign a value to it before using it.", {});
}

const Node& require_defined(const Node* node) {
  if (node == nullptr) fail_undefined();
  return *node;
}

// If the trace that made the symbol has ended, what kept it is to be looked for at the line that made it.
void require_trace(const Tensor& symbol, const char* what) {
  if (!is_live(symbol))
    throw TraceError(what, "the tensor " + symbol.spec().str() + " was made while tracing and has no value outside; return it from the traced function.",
                     symbol.node()->made_at());
}

const Node& concrete(const Tensor& x, const char* what, Location at) {
  if (!require_defined(x.node()).symbolic) return *x.node();
  require_trace(x, what);
  throw TraceError(what, "the tensor is a symbol " + x.spec().str() + " of a trace and has no value; while tracing use ops on it, cond or "
                             "while_loop, and afterwards what the function returned.", at);
}

// A program that is traced has these numbers in it; they are no values from outside.
[[gnu::always_inline]] inline void tell_written(const Tensor& numbers, const Location& at) {
  if (Interpreter* const top = Interpreter::top()) [[unlikely]] top->wrote(numbers, at);
}

void collect(std::span<const Nested> list, int depth, Shape& shape, std::vector<Literal>& flat, Location at) {
  if (depth >= kMaxRank) throw ShapeError("tensor", "the list is nested more than 32 deep; use fewer axes.", at);
  if (depth == shape.rank()) shape.append(static_cast<std::int64_t>(list.size()));
  detail::check_row_length(shape, depth, list.size(), at);
  for (const Nested& element : list) {
    // A number belongs at the deepest level there is, a list above it; the first number fixes which level that is.
    const bool deepest = depth + 1 == shape.rank();
    if (element.is_list() ? deepest && !flat.empty() : !deepest)
      throw ShapeError("tensor", "the list mixes numbers and lists at depth " + std::to_string(depth + 1) +
                                     "; nested lists must be rectangular.", at);
    if (element.is_list()) collect(element.list(), depth + 1, shape, flat, at);
    else flat.push_back(element.leaf());
  }
}

Tensor from_list(std::initializer_list<Nested> list, const DType* wanted, Location at) {
  if (wanted != nullptr) require_dtype(*wanted, "tensor", at);
  Shape shape;
  std::vector<Literal> flat;
  collect({list.begin(), list.size()}, 0, shape, flat, at);
  DType dtype = f32;
  if (wanted != nullptr) {
    dtype = *wanted;
  } else if (!flat.empty()) {
    dtype = bool_;
    for (Literal number : flat) {
      const DType own = literal_dtype(number);
      if (kind_of(own) > kind_of(dtype)) dtype = own;
      if (kind_of(own) == Kind::integer && kind_of(dtype) == Kind::integer && (own == u64 || (own == i64 && dtype == i32))) dtype = own;
    }
  }
  Tensor result = make_tensor({dtype, shape});
  auto* out = static_cast<unsigned char*>(mutable_data(result));
  for (Literal number : flat) {
    if (number.kind == Kind::boolean && kind_of(dtype) != Kind::boolean) number.kind = Kind::integer;
    if (!literal_fits(number, dtype))
      throw DtypeError("tensor", "the list holds a number that does not fit " + std::string(name_of(dtype)) +
                                     "; name another dtype.", at);
    const Tensor scalar = make_scalar(number, dtype);
    std::memcpy(out, mutable_data(scalar), size_of(dtype));
    out += size_of(dtype);
  }
  tell_written(result, at);
  return result;
}

}  // namespace

Tensor make_tensor(Spec spec) {
  const std::int64_t bytes = bytes_of(spec);
  Tensor result(new Node(std::move(spec)));
  Node& node = *result.node();
  if (bytes <= static_cast<std::int64_t>(sizeof node.inline_data)) {
    node.data = node.inline_data;
  } else {
    node.buffer = BufferRef(Buffer::allocate(bytes));
    node.data = node.buffer->data();
  }
  return result;
}

Tensor make_view(const Tensor& of, Shape shape) {
  const Node& source = *of.node();
  Tensor result(new Node({source.spec.dtype, std::move(shape)}));
  Node& node = *result.node();
  if (source.buffer) {
    node.buffer = source.buffer;
    node.data = source.data;
  } else {
    std::memcpy(node.inline_data, source.inline_data, sizeof node.inline_data);
    node.data = node.inline_data;
  }
  return result;
}

Tensor make_symbolic(Spec spec, Location made_at) {
  Tensor result(new Node(std::move(spec)));
  result.node()->symbolic = true;
  result.node()->set_made_at({made_at});
  set_symbol(result, {});
  return result;
}

bool literal_fits(Literal number, DType dtype) {
  if (number.kind > kind_of(dtype)) return false;
  if (number.kind != Kind::integer || !is_integer(dtype)) return true;
  return with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      return number.wide ? std::in_range<T>(static_cast<std::uint64_t>(number.integer)) : std::in_range<T>(number.integer);
    } else {
      return true;
    }
  });
}

namespace {

Tensor scalar_of(Literal number, DType dtype) {
  Tensor result = make_tensor({dtype, {}});
  with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    T value;
    if (number.kind == Kind::floating) value = convert<T>(number.real);
    else if (number.wide) value = convert<T>(static_cast<std::uint64_t>(number.integer));
    else value = convert<T>(number.integer);
    std::memcpy(mutable_data(result), &value, sizeof value);
  });
  return result;
}

}  // namespace

Tensor make_scalar(Literal number, DType dtype, Origin written_at) {
  Tensor result = scalar_of(number, dtype);
  result.node()->set_made_at(written_at);
  return result;
}

namespace detail {

void check_row_length(const Shape& shape, int depth, std::size_t length, Location at) {
  if (shape.dim(depth) != static_cast<std::int64_t>(length))
    throw ShapeError("tensor", "the list is ragged: at depth " + std::to_string(depth) + " one row has " +
                                   std::to_string(shape.dim(depth)) + " elements and another " + std::to_string(length) +
                                   "; nested lists must be rectangular.", at);
}

}  // namespace detail

Tensor::Tensor(Literal value, Location at) : Tensor(scalar_of(value, literal_dtype(value))) {
  node_->literal = true;
  std::memcpy(node_->inline_data + 8, &value.integer, 8);
  tell_written(*this, at);
}

Tensor::Tensor(Literal value, DType dtype, Location at) {
  require_dtype(dtype, "tensor", at);
  if (!literal_fits(value, dtype))
    throw DtypeError("tensor", "the number does not fit " + std::string(name_of(dtype)) + "; name another dtype or cast.", at);
  *this = scalar_of(value, dtype);
  tell_written(*this, at);
}

Tensor::Tensor(std::initializer_list<Nested> list, Location at) : Tensor(from_list(list, nullptr, at)) {}
Tensor::Tensor(std::initializer_list<Nested> list, DType dtype, Location at) : Tensor(from_list(list, &dtype, at)) {}

Tensor::Tensor(const void* values, std::size_t count, DType dtype, Shape shape, Location at) {
  if (!shape.known() || static_cast<std::uint64_t>(shape.num_elements()) != count)
    throw ShapeError("tensor", std::to_string(count) + " values do not fill shape " + shape.str() +
                                   "; give as many as its sizes multiply to.", at);
  *this = make_tensor({dtype, std::move(shape)});
  if (count != 0) std::memcpy(mutable_data(*this), values, count * size_of(dtype));
}

Tensor Tensor::from_memory(void* data, Spec spec, std::function<void()> release, Location at) {
  require_dtype(spec.dtype, "from_memory", at);
  if (!spec.shape.known()) throw ShapeError("from_memory", "spec " + spec.str() + " has an unknown size; name every size.", at);
  const std::int64_t bytes = bytes_of(spec);
  if (data == nullptr && bytes > 0) throw ValueError("from_memory", "data is null; pass the first element's address.", at);
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(spec.dtype) != 0)
    throw ValueError("from_memory", "data is not aligned for " + std::string(name_of(spec.dtype)) + "; copy it instead.", at);
  Tensor result(new Node(std::move(spec)));
  result.node()->buffer = BufferRef(Buffer::wrap(data, std::move(release)));
  result.node()->data = data;
  return result;
}

Tensor::Tensor(const Tensor& other) noexcept : node_(other.node_) {
  if (node_ != nullptr) node_->count.fetch_add(1, std::memory_order_relaxed);
}
Tensor& Tensor::operator=(const Tensor& other) & noexcept { return *this = Tensor(other); }
// Who has the only handle needs no atomic change: nobody else can make a second one.
void Tensor::release() noexcept {
  if (node_->count.load(std::memory_order_acquire) == 1 || node_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node_;
}

bool Tensor::is_concrete() const { return !require_defined(node_).symbolic; }
DType Tensor::dtype() const { return require_defined(node_).spec.dtype; }
const Shape& Tensor::shape() const { return require_defined(node_).spec.shape; }
const Spec& Tensor::spec() const { return require_defined(node_).spec; }

const void* Tensor::raw_data(DType dtype, Location at) const {
  const Node& node = concrete(*this, "data", at);
  if (node.spec.dtype != dtype)
    throw DtypeError("data", "the tensor is " + node.spec.str() + ", not " + std::string(name_of(dtype)) +
                                 "; ask for its own type or cast.", at);
  return node.data;
}

namespace {

// `by` is the member that was called: its name is what an error begins with.
template <Element A>
std::vector<A> elements(const Node& node, const char* by, Location at) {
  if (kind_of(node.spec.dtype) > kind_of(dtype_of<A>()))
    throw DtypeError(by, "the tensor is " + node.spec.str() + " and would lose its kind as " + std::string(name_of(dtype_of<A>())) +
                             "; cast it first.", at);
  const auto count = static_cast<std::size_t>(node.spec.shape.num_elements());
  std::vector<A> result(count);
  with_element(node.spec.dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T* from = static_cast<const T*>(node.data);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::integral<T> && std::integral<A> && !std::same_as<T, bool> && !std::same_as<A, bool>)
        if (!std::in_range<A>(from[i]))
          throw ValueError(by, "element " + std::to_string(i) + " is " + std::to_string(from[i]) + " and does not fit " +
                                   std::string(name_of(dtype_of<A>())) + "; ask for a wider type.", at);
      result[i] = convert<A>(from[i]);
    }
  });
  return result;
}

}  // namespace

template <Element A>
std::vector<A> Tensor::to_vector(Location at) const {
  return elements<A>(concrete(*this, "to_vector", at), "to_vector", at);
}

template <Element A>
A Tensor::item(Location at) const {
  const Node& node = concrete(*this, "item", at);
  if (node.spec.shape.num_elements() != 1)
    throw ShapeError("item", "the tensor is " + node.spec.str() + "; item needs exactly one element, index first.", at);
  return elements<A>(node, "item", at)[0];
}

#define WEFT_ELEMENT(A)                                        \
  template WEFT_API A Tensor::item<A>(Location) const;         \
  template WEFT_API std::vector<A> Tensor::to_vector<A>(Location) const;
WEFT_ELEMENT(float) WEFT_ELEMENT(double) WEFT_ELEMENT(float16) WEFT_ELEMENT(bfloat16)
WEFT_ELEMENT(signed char) WEFT_ELEMENT(short) WEFT_ELEMENT(int) WEFT_ELEMENT(long) WEFT_ELEMENT(long long)
WEFT_ELEMENT(unsigned char) WEFT_ELEMENT(unsigned short) WEFT_ELEMENT(unsigned) WEFT_ELEMENT(unsigned long)
WEFT_ELEMENT(unsigned long long) WEFT_ELEMENT(bool)
#undef WEFT_ELEMENT

Tensor::operator bool() const {
  const Node& node = require_defined(node_);
  if (node.symbolic) {
    require_trace(*this, "bool");
    throw TraceError("bool", "a symbolic tensor has no value to branch on; use cond or while_loop.", node.made_at());
  }
  if (node.spec.shape.num_elements() != 1)
    throw ShapeError("bool", "the tensor is " + node.spec.str() + "; only one element can be true or false, reduce it with any_true or all_true.", {});
  return with_element(node.spec.dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return convert<bool>(*static_cast<const T*>(node.data));
  });
}

Tensor::Iterator Tensor::begin() const {
  if (rank() == 0) throw ShapeError("begin", "the tensor is a scalar; iteration goes over axis 0.", {});
  if (shape().dim(0) == kUnknown)
    throw ShapeError("begin", "the tensor is " + spec().str() + "; the size of axis 0 must be known to iterate over it; use map or fold.",
                     node_->made_at());
  return {*this, 0};
}
Tensor::Iterator Tensor::end() const { return {*this, rank() == 0 ? 0 : shape().dim(0)}; }

}  // namespace weft::inline v0
