// Op: one row of the one table. Everything known about an operation.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "core/attr.h"
#include "core/node.h"
#include "core/tile.h"
#include "kernels/blocks.h"
#include <weft/gradient.h>

namespace weft::inline v0 {

struct Op;
struct UpdateLanes;  // core/update.h
using Tensors = SmallVector<Tensor, 2>;
using Specs = SmallVector<Spec, 2>;

/// A set of dtypes, one bit each.
using DTypes = std::uint16_t;
constexpr DTypes bit(DType t) { return static_cast<DTypes>(1u << static_cast<int>(t)); }
inline constexpr DTypes kFloats = bit(f32) | bit(f64) | bit(f16) | bit(bf16);
inline constexpr DTypes kInts = bit(i8) | bit(i16) | bit(i32) | bit(i64) | bit(u8) | bit(u16) | bit(u32) | bit(u64);
inline constexpr DTypes kNumbers = kFloats | kInts;
inline constexpr DTypes kAnything = kNumbers | bit(bool_);
std::string dtypes_text(DTypes set);  // "f32, f64, f16 or bf16"

/// What a row says about one input: "x", "indices:index", "xs...". Without a type the input has the row's common dtype T.
struct Input {
  enum class Type : std::uint8_t {
    kCommon,  // T: one of Op::dtypes, the same for all inputs of this type
    kIndex,   // ":index"  i32 or i64
    kInt,     // ":int"    any integer
    kBool,    // ":bool"
    kAny,     // ":any"    any dtype, on its own
  };
  std::string_view name;
  Type type = Type::kCommon;
  bool list = false;  // "xs...": any number of tensors, the last input
  Input(const char* declaration);
};

/// The arguments of a call that every stage sees: attributes by name, and errors that carry op and source line.
struct OpArgs {
  const Op& op;
  AttrSpan attrs;
  Location at;

  inline const Attr& attr(std::string_view name) const;  // REQUIRES: the row declares it
  bool has(std::string_view name) const { return !std::holds_alternative<std::monostate>(attr(name)); }
  bool flag(std::string_view name) const { return std::get<bool>(attr(name)); }
  std::int64_t integer(std::string_view name) const { return std::get<std::int64_t>(attr(name)); }
  std::int64_t choice(std::string_view name) const { return std::get<std::int64_t>(attr(name)); }
  double real(std::string_view name) const { return std::get<double>(attr(name)); }
  DType dtype_attr(std::string_view name) const { return std::get<DType>(attr(name)); }
  const Ints& ints(std::string_view name) const { return std::get<Ints>(attr(name)); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(attr(name)); }
  const std::shared_ptr<const Region>& region(std::string_view name) const { return std::get<std::shared_ptr<const Region>>(attr(name)); }

  [[noreturn]] void shape_error(const std::string& sentence) const;
  [[noreturn]] void dtype_error(const std::string& sentence) const;
  [[noreturn]] void index_error(const std::string& sentence) const;
  [[noreturn]] void value_error(const std::string& sentence) const;

 private:
  const Attr& attr_spelled(std::string_view name) const;
};

/// What `.infer` sees: Specs only, any size may be kUnknown. By then the number of inputs, their dtypes and the ranges of
/// the attributes have been checked against the row.
struct Infer : OpArgs {
  std::span<const Spec* const> specs;

  std::size_t count() const { return specs.size(); }
  const Spec& spec(std::size_t i) const { return *specs[i]; }
  const Shape& shape(std::size_t i) const { return specs[i]->shape; }
  DType dtype(std::size_t i) const { return specs[i]->dtype; }
  int rank(std::size_t i) const { return specs[i]->shape.rank(); }
  std::string name(std::size_t i) const;   // "a"; of a list "xs[2]"
  std::string named(std::size_t i) const;  // "a f32[2,3]"

  /// The attribute as an axis in [0, rank). Throws IndexError. A new axis (expand_dims, stack) passes rank + 1.
  int axis(std::string_view attr_name, int rank) const;
  /// The attribute as sorted distinct axes in [0, rank); all of them if it is none. Throws IndexError, ValueError.
  Ints axes(std::string_view attr_name, int rank) const;
  void require_rank(std::size_t i, int wanted) const {
    if (rank(i) != wanted) refuse_rank(i, wanted, "");
  }
  void require_rank_at_least(std::size_t i, int wanted) const {
    if (rank(i) < wanted) refuse_rank(i, wanted, " or more");
  }

 private:
  [[noreturn]] void refuse_rank(std::size_t i, int wanted, const char* or_more) const;
};

/// What `.kernel` sees: concrete inputs, and outputs that already have room (unless the row is kValueShape).
struct KernelCall : OpArgs {
  std::span<const Tensor> inputs;
  Tensors& outputs;
  const Specs& specs;  // of the outputs
  std::span<const bool> unread{};  // of a kSkipsUnread row: results that nobody will look at; empty: all are read
  const kernels::BlockDone* done = nullptr;     // of a kTellsBlocks row: is told of the parts of the result
  const kernels::MakeElements* make = nullptr;  // of a kMakesInput row: the elements of input 0 come from here, and lie nowhere

  template <class T>
  const T* in(std::size_t i) const {
    return elements<T>(inputs[i]);
  }
  template <class T>
  T* out(std::size_t i = 0) const {
    return static_cast<T*>(mutable_data(outputs[i]));
  }
  const Shape& shape(std::size_t i) const { return inputs[i].shape(); }
  const Shape& out_shape(std::size_t i = 0) const { return outputs[i].shape(); }
  DType dtype(std::size_t i = 0) const { return inputs[i].dtype(); }
  DType out_dtype(std::size_t i = 0) const { return outputs[i].dtype(); }
  std::string name(std::size_t i) const;
  /// Gives output i of a kValueShape row its room. REQUIRES: compatible with specs[i].
  void allocate(std::size_t i, Shape shape);
};

/// What `.expand` sees: the inputs, concrete or symbolic. It returns the outputs, made by public ops.
struct Expand : OpArgs {
  std::span<const Tensor> inputs;
  const Tensor& operator[](std::size_t i) const { return inputs[i]; }
};

using Grads = SmallVector<Grad, 2>;

/// What `.grad` sees: everything about one recorded call. It returns one Grad for each input, in order, made by public ops
/// and without reading a size on the host. A Grad may still have the broadcast shape if the row is kBroadcasts: the tape sums it
/// down. Missing ones (or a shorter list) mean "no gradient flows here".
struct Backward : OpArgs {
  std::span<const Tensor> inputs, outputs;
  std::span<const Grad> dys;      // dense or absent
  std::span<const bool> wanted;

  const Tensor& x(std::size_t i = 0) const { return inputs[i]; }
  const Tensor& y(std::size_t i = 0) const { return outputs[i]; }
  bool has_dy(std::size_t i) const { return dys[i].present(); }
  Tensor dy(std::size_t i = 0) const;                       // zeros if nothing arrived
  bool needs(std::size_t i) const { return wanted[i]; }     // false: whatever is returned for i is thrown away
};

/// What `.batch` sees: a call that is made once for each place along an extra first axis, which some of its inputs have. It returns the outputs of
/// all those calls, each with that axis, made by public ops and without reading a size on the host; or nothing, which means: call by call. An input
/// that is named `like` gives nothing but its shape, and never has the axis.
struct Batch : OpArgs {
  std::span<const Tensor> inputs;
  std::span<const bool> batched;  // which of them have the axis: at least one
  std::int64_t size;              // of the axis, 1 or more

  int rank(std::size_t i) const { return inputs[i].rank() - (batched[i] ? 1 : 0); }  // without the axis
};

/// What `.jvp` sees: a call and where its inputs move. It returns the outputs, and where they move then.
struct Forward : OpArgs {
  std::span<const Tensor> inputs, tangents;  // an empty tangent: the input stands still

  const Tensor& x(std::size_t i) const { return inputs[i]; }
  bool moves(std::size_t i) const { return tangents[i].defined(); }
};
struct Moved {
  Tensors outputs, tangents;                    // an empty tangent: the output stands still
  std::vector<std::exception_ptr> errors = {};  // of tangents that cannot be computed; empty: all can
};

using InferFn = Specs (*)(const Infer&);
using KernelFn = void (*)(KernelCall&);
using UpdateBody = UpdateLanes (*)(const KernelCall&);
using ValidateFn = void (*)(const KernelCall&);
using ExpandFn = Tensors (*)(const Expand&);
using GradFn = Grads (*)(const Backward&);
using BatchFn = Tensors (*)(const Batch&);
using JvpFn = Moved (*)(const Forward&);

enum Traits : std::uint32_t {
  kNoTraits = 0,
  kCommutative = 1 << 0,
  kMayFail = 1 << 1,      // can fail on data: never removed as dead
  kValueShape = 1 << 2,   // the result's shape depends on values; the kernel allocates
  kBroadcasts = 1 << 3,   // inputs broadcast; the tape sums gradients down (implied by .tile with two inputs or more)
  kMoves = 1 << 4,        // the kernel only moves elements or handles every dtype itself: 16-bit floats are not widened
  kView = 1 << 5,         // the result is the first input under another shape; needs no kernel
  kNoGradient = 1 << 6,   // constant in its inputs by definition (comparisons, shape, floor): the tape stops here silently
  kTellsBlocks = 1 << 8,  // the kernel tells KernelCall::done of its result part by part, and leaves alone what it has told; not for 16-bit floats
  kMakesInput = 1 << 9,   // the kernel asks KernelCall::make for its first input, each element once, if there is one; not for 16-bit floats
  kSkipsUnread = 1 << 7,  // the kernel makes room where there is none yet, and leaves out results that nobody reads
  kChanges = 1 << 10,     // the result is the first input but for a few places: where both lie in the same memory, the kernel touches only those, and throws nothing
  kOfSpecs = 1 << 11,     // the result depends on the Specs of the inputs alone: no element of them is read
};
constexpr Traits operator|(Traits a, Traits b) { return static_cast<Traits>(static_cast<unsigned>(a) | static_cast<unsigned>(b)); }

/// One generated test input. `f32({2,3}).range(0, 1)`; see core/sample.h for the spelling.
struct SampleInput {
  Spec spec;
  double low = -2, high = 2;
  std::vector<double> values{};  // exactly these, if given
  enum class Form : std::uint8_t { kUniform, kDistinct, kPositiveDefinite, kSorted } form = Form::kUniform;

  SampleInput range(double lo, double hi) && { return low = lo, high = hi, std::move(*this); }
  SampleInput exactly(std::vector<double> list) && { return values = std::move(list), std::move(*this); }
  SampleInput distinct() && { return form = Form::kDistinct, std::move(*this); }                   // far apart: no ties, no kinks
  SampleInput positive_definite() && { return form = Form::kPositiveDefinite, std::move(*this); }  // of the last two axes
  SampleInput sorted() && { return form = Form::kSorted, std::move(*this); }
};

/// A valid call, from which the suites derive their cases. Floating specs stand for every floating dtype of the row.
struct Sample {
  std::vector<SampleInput> inputs;
  std::vector<std::pair<const char*, Attr>> attrs{};  // others take their defaults
};

struct Op {
  const char* name;
  const char* doc;                       // first sentence: what it computes
  const char* tf = "";                   // "tf.math.reduce_sum(x, axis, keepdims)": names of inputs and attributes in TensorFlow's order; " | " between spellings
  std::vector<Input> inputs{};
  std::vector<AttrDef> attrs{};
  const char* order = "";                // of the C++ parameters, where inputs, then required attributes, reads badly: "shape value"
  std::vector<const char*> outputs{"y"};  // {"ys..."}: as many as infer says
  DTypes dtypes = 0;                      // of T; tile rows derive it
  InferFn infer = nullptr;                // tile rows default to broadcasting
  ValidateFn validate = nullptr;          // looks at data before the body runs; the row is kMayFail
  // Exactly one body.
  Tile tile{};
  KernelFn kernel = nullptr;
  ExpandFn expand = nullptr;
  UpdateBody update = nullptr;            // a rule on lists: output i has the Spec of element i of the list, whose place it takes if nobody will see that again
  GradFn grad = nullptr;                  // an expand row without one is differentiated through its parts
  JvpFn jvp = nullptr;                    // how the results move; rows without one move as their gradient implies
  BatchFn batch = nullptr;                // tile rows broadcast, expand rows go part by part; other rows without one go call by call
  Traits traits = kNoTraits;
  std::vector<Sample> samples{};

  bool dense_pointwise = false;           // derived: a tile row without attributes, own inference or validation
  bool of_one_dtype = false;              // derived: all inputs have the common dtype

  bool is(Traits t) const { return (traits & t) != 0; }
  bool list_output() const { return std::string_view(outputs[0]).ends_with("..."); }
  bool list_input() const { return !inputs.empty() && inputs.back().list; }
  bool differentiable() const { return grad != nullptr || (expand != nullptr && !is(kNoGradient)); }
};

/// The declared input that argument i belongs to.
inline const Input& input_of(const Op& op, std::size_t i) { return i < op.inputs.size() ? op.inputs[i] : op.inputs.back(); }

/// Whether argument i gives nothing but its shape. Rows say so by the name.
inline bool only_shape(const Op& op, std::size_t i) { return input_of(op, i).name.starts_with("like"); }

inline DTypes allowed(const Op& op, const Input& input) {
  switch (input.type) {
    case Input::Type::kCommon: return op.dtypes;
    case Input::Type::kIndex: return bit(i32) | bit(i64);
    case Input::Type::kInt: return kInts;
    case Input::Type::kBool: return bit(bool_);
    case Input::Type::kAny: return kAnything;
  }
  return 0;
}

const Attr& OpArgs::attr(std::string_view name) const {
  for (std::size_t i = 0; i < attrs.size(); ++i)  // mostly the very literal that the row was written with
    if (op.attrs[i].name == name.data()) return attrs[i];
  return attr_spelled(name);
}

}  // namespace weft::inline v0
