// The value behind a Tensor handle.
#pragma once

#include <atomic>
#include <cstring>

#include "base/buffer.h"
#include <weft/tensor.h>

namespace weft::inline v0 {

/// Where a tensor was made, and by which of the programs that were traced (graph/tracer.h); 0: by none of them.
struct Origin : Location {
  std::uint32_t program = 0;
};

/// A Spec and its elements. Immutable once a second handle exists; the count is atomic.
///
/// Invariant: exactly one of these holds.
///   - symbolic:  data == nullptr, no buffer
///   - inline:    data == inline_data, no buffer, at most sizeof(inline_data) bytes
///   - buffered:  data == buffer->data() (views of a whole buffer share it)
///   - borrowed:  data lies in memory of a plan, no buffer. Only kernels see such a node, during a call; nothing makes a view of it.
struct Node {
  explicit Node(Spec s) : spec(std::move(s)) {}
  // Nodes come and go with every eager op: their memory is kept in a list of the thread that freed it.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* block);

  std::atomic<std::uint32_t> count{1};
  bool symbolic = false;
  bool literal = false;  // made from a C++ number; the second half of inline_data is what was written, its 8 bytes
  std::int32_t line = 0;      // where symbolic nodes were made, and numbers that a program wrote while it was traced
  std::uint32_t program = 0;  // that one, of such numbers
  const char* file = "";
  Spec spec;
  void* data = nullptr;
  BufferRef buffer;
  alignas(16) unsigned char inline_data[16];

  Origin made_at() const { return {Location::here(file, line, ""), program}; }
  void set_made_at(Origin at) { file = at.file, line = at.line, program = at.program; }
  /// The number a literal was written as. REQUIRES: literal.
  Literal number() const;
};

/// The bytes of its elements. Throws ShapeError if they cannot be counted, or a size is unknown.
std::int64_t bytes_of(const Spec& spec);
/// A node with room for its elements, uncleared. Throws ShapeError, OutOfMemoryError.
Tensor make_tensor(Spec spec);
/// The same elements under another shape: shares the buffer. REQUIRES: concrete, same dtype and number of elements.
Tensor make_view(const Tensor& of, Shape shape);
/// A tensor that is only known by its Spec.
Tensor make_symbolic(Spec spec, Location made_at);
/// What a symbolic tensor stands for: a value of a trace. Traces are counted from 1; 0 belongs to none.
struct Symbol {
  std::uint64_t trace = 0;
  std::uint32_t value = 0;
};
inline void set_symbol(const Tensor& t, Symbol symbol) { std::memcpy(t.node()->inline_data, &symbol, sizeof symbol); }  // REQUIRES: symbolic
inline Symbol symbol_of(const Tensor& t) {                                                                              // REQUIRES: symbolic
  Symbol symbol;
  std::memcpy(&symbol, t.node()->inline_data, sizeof symbol);
  return symbol;
}
/// `number` as a scalar of `dtype`; `fits` says whether that loses more than rounding (and then nothing is made).
bool literal_fits(Literal number, DType dtype);
Tensor make_scalar(Literal number, DType dtype, Origin written_at = {});

inline bool is_literal(const Tensor& t) {
  return t.node()->literal && t.node()->count.load(std::memory_order_relaxed) == 1;
}
inline void* mutable_data(const Tensor& t) { return t.node()->data; }
template <class T>
const T* elements(const Tensor& t) {
  return static_cast<const T*>(t.node()->data);
}

/// Calls f with a null T* for the C++ element type of `t`, one of the thirteen.
template <class F>
decltype(auto) with_element(DType t, F&& f) {
  switch (t) {
    case DType::f32: return f(static_cast<float*>(nullptr));
    case DType::f64: return f(static_cast<double*>(nullptr));
    case DType::f16: return f(static_cast<float16*>(nullptr));
    case DType::bf16: return f(static_cast<bfloat16*>(nullptr));
    case DType::i8: return f(static_cast<std::int8_t*>(nullptr));
    case DType::i16: return f(static_cast<std::int16_t*>(nullptr));
    case DType::i32: return f(static_cast<std::int32_t*>(nullptr));
    case DType::i64: return f(static_cast<std::int64_t*>(nullptr));
    case DType::u8: return f(static_cast<std::uint8_t*>(nullptr));
    case DType::u16: return f(static_cast<std::uint16_t*>(nullptr));
    case DType::u32: return f(static_cast<std::uint32_t*>(nullptr));
    case DType::u64: return f(static_cast<std::uint64_t*>(nullptr));
    case DType::bool_: return f(static_cast<bool*>(nullptr));
  }
  throw InternalError("a dtype outside the enumeration");
}

}  // namespace weft::inline v0
