// Slicing, padding and reordering.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/convert.h"
#include "core/strides.h"
#include "kernels/move.h"
#include "ops/families.h"
#include "ops/row.h"
#include "ops/sizes.h"

namespace weft::inline v0::rows {
namespace {

using kernels::Piece;
using kernels::Pieces;

// --- strided_slice ---

using Axes = SmallVector<std::int64_t, kMaxRank>;  // needs no memory: a kernel that changes a few places must not fail

// What strided_slice reads of each axis of its input, and the shape that gives.
struct Cut {
  Axes start, step, count;  // one for each axis of the input; of unknown sizes the count is unknown
  Axes result;
  std::int64_t outside = 0;  // the first single position that its axis does not have, as it was given
  int outside_of = -1;       // that axis, if there is one
};

void cut_position(std::int64_t size, std::int64_t given, Cut& cut) {
  const std::int64_t position = !infer::known(size) ? 0 : given < 0 ? given + size : given;
  if (infer::known(size) && cut.outside_of < 0 && (position < 0 || position >= size)) cut.outside = given, cut.outside_of = static_cast<int>(cut.start.size());
  cut.start.push_back(position);
  cut.step.push_back(1);
  cut.count.push_back(1);
}

// Python's start:stop:step. Open ends are null; ends beyond the axis are cut.
void cut_range(std::int64_t size, const std::int64_t* begin, const std::int64_t* end, std::int64_t step, Cut& cut) {
  std::int64_t start = 0, count = kUnknown;
  if (infer::known(size)) {
    const bool forward = step > 0;
    const std::int64_t low = forward ? 0 : -1, high = forward ? size : size - 1;
    const auto place = [&](std::int64_t given) { return std::clamp(given < 0 ? given + size : given, low, high); };
    start = begin != nullptr ? place(*begin) : forward ? low : high;
    const std::int64_t stop = end != nullptr ? place(*end) : forward ? high : low;
    const std::int64_t span = stop - start;
    count = span == 0 || (span > 0) != forward ? 0 : (span - (forward ? 1 : -1)) / step + 1;
    if (count == 0) start = 0;
  }
  cut.start.push_back(start);
  cut.step.push_back(step);
  cut.count.push_back(count);
  cut.result.push_back(count);
}

void cut_whole(std::int64_t size, Cut& cut) { cut_range(size, nullptr, nullptr, 1, cut); }

// REQUIRES: the row has the attributes of strided_slice. `input` is the one of shape `x`, for errors. Throws what is wrong whatever the sizes are.
Cut cut_of(const Infer& in, const Shape& x, std::size_t input) {
  const Ints &begin = in.ints("begin"), &end = in.ints("end"), &strides = in.ints("strides");
  const std::size_t entries = begin.size(), rank = static_cast<std::size_t>(x.rank());
  if (end.size() != entries || (!strides.empty() && strides.size() != entries))
    in.value_error("begin, end and strides have " + std::to_string(entries) + ", " + std::to_string(end.size()) + " and " +
                   std::to_string(strides.size()) + " entries; they must be equally long (strides may be empty).");
  if (entries > 63) in.index_error(std::to_string(entries) + " indices were given; at most 63 are possible.");
  const auto marked = [&](const char* mask, std::size_t i) { return (in.integer(mask) >> i & 1) != 0; };
  std::size_t named = 0, ellipsis = entries;  // an ellipsis stands at the end if nowhere else
  for (std::size_t i = 0; i < entries; ++i) {
    if (!marked("ellipsis_mask", i)) named += marked("new_axis_mask", i) ? 0 : 1;
    else if (ellipsis < entries) in.index_error("there are 2 ellipses (ellipsis_mask); only one can stand for the axes that are not named.");
    else ellipsis = i;
  }
  if (named > rank)
    in.index_error(std::to_string(named) + " indices were given for " + in.named(input) + ", which has only " + std::to_string(rank) +
        (rank == 1 ? " axis." : " axes."));
  Cut cut;
  for (std::size_t i = 0; i <= entries; ++i) {
    const std::size_t axis = cut.start.size();
    if (i == ellipsis)
      for (std::size_t skipped = 0; skipped < rank - named; ++skipped) cut_whole(x.dim(static_cast<int>(axis + skipped)), cut);
    if (i == ellipsis || i == entries) continue;
    if (marked("new_axis_mask", i)) {
      cut.result.push_back(1);
    } else if (marked("shrink_axis_mask", i)) {
      cut_position(x.dim(static_cast<int>(axis)), begin[i], cut);
    } else {
      const std::int64_t step = strides.empty() ? 1 : strides[i];
      if (step == 0) in.value_error("the step of index " + std::to_string(i) + " is 0; it must be positive or negative.");
      cut_range(x.dim(static_cast<int>(axis)), marked("begin_mask", i) ? nullptr : &begin[i], marked("end_mask", i) ? nullptr : &end[i], step,
          cut);
    }
  }
  return cut;
}

// The elements a Cut names inside `whole`, against the same ones side by side.
struct CutBox {
  std::int64_t offset = 0;
  Axes whole, dense;  // strides

  CutBox(const Cut& cut, const Shape& shape) : whole(cut.count.size(), 1), dense(cut.count.size(), 1) {
    dense_strides(shape.sizes(), whole.data());
    dense_strides(cut.count, dense.data());
    for (std::size_t a = 0; a < cut.count.size(); ++a) {
      offset += cut.start[a] * whole[a];
      whole[a] = cut.count[a] > 1 ? whole[a] * cut.step[a] : 0;  // with one element the step may be anything
    }
  }
};

// The shape of what the row cuts of input `whole`, which `fits` may refuse. Single positions come last: the shape does not depend on them, so that
// an error is the same where not all sizes are known yet.
template <class Fits>
Shape slice_shape(const Infer& in, std::size_t whole, const Fits& fits) {
  const Cut cut = cut_of(in, in.shape(whole), whole);
  Shape result = shape_of(in, Ints(cut.result.begin(), cut.result.end()));
  fits(result);
  if (cut.outside_of >= 0) {
    const std::int64_t size = in.shape(whole).dim(cut.outside_of);
    in.index_error("index " + std::to_string(cut.outside) + " is out of range for axis " + std::to_string(cut.outside_of) + " of size " + std::to_string(size) +
                   (size == 0 ? ", which is empty." : "; it must be from " + std::to_string(-size) + " to " + std::to_string(size - 1) + "."));
  }
  return result;
}

// Input `part` must be what the row cuts of input `whole`.
void require_slice(const Infer& in, std::size_t part, std::size_t whole) {
  slice_shape(in, whole, [&](const Shape& expected) {
    if (!infer::compatible(in.shape(part), expected))
      in.shape_error(in.named(part) + " must be " + expected.str() + ", the shape of the slice of " + in.named(whole) + ".");
  });
}

// Writes `from`, the elements side by side, where strided_slice reads them in the result.
void put_slice(KernelCall& call, std::size_t from, std::size_t like) {
  const std::size_t size = size_of(call.dtype());
  const Cut cut = cut_of(checked(call), call.shape(like), like);
  const CutBox box(cut, call.shape(like));
  kernels::copy_box(call.in<void>(from), box.dense.data(), call.out<char>() + box.offset * static_cast<std::int64_t>(size), box.whole.data(),
                    cut.count.data(), call.shape(like).rank(), size);
}

std::vector<AttrDef> slice_attrs() {
  const auto mask = [](const char* name) { return attr::integer(name, 0).at_least(0); };
  return {attr::list("begin"), attr::list("end"), attr::list("strides", {}), mask("begin_mask"), mask("end_mask"),
          mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask")};
}

template <class Options>
Options slice_options(const OpArgs& b) {
  return {.strides = b.ints("strides"), .begin_mask = b.integer("begin_mask"), .end_mask = b.integer("end_mask"),
          .ellipsis_mask = b.integer("ellipsis_mask"), .new_axis_mask = b.integer("new_axis_mask"), .shrink_axis_mask = b.integer("shrink_axis_mask")};
}

// --- pad ---

enum Mode : std::int64_t { kConstant, kReflect, kSymmetric };

Shape padded_shape(const Infer& in, const Shape& x, const std::string& named) {
  const Ints& paddings = amounts(in, "paddings", static_cast<std::size_t>(x.rank()));
  const std::int64_t mode = in.choice("mode");
  Ints sizes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t before = paddings[2 * static_cast<std::size_t>(axis)], after = paddings[2 * static_cast<std::size_t>(axis) + 1];
    const std::int64_t limit = mode == kReflect ? x.dim(axis) - 1 : x.dim(axis);
    const std::int64_t most = std::max(before, after);
    if (mode != kConstant && infer::known(x.dim(axis)) && most > 0 && most > limit)
      in.shape_error("paddings has " + std::to_string(most) + " for axis " + std::to_string(axis) + " of " + named +
          "; this mode can repeat at most " +
                     std::to_string(std::max<std::int64_t>(limit, 0)) + " elements there.");
    sizes.push_back(infer::add(in, infer::add(in, before, x.dim(axis)), after));
  }
  return shape_of(in, sizes);
}

// Where the elements of the padded tensor come from, axis by axis.
SmallVector<Pieces, 6> padding_pieces(const Ints& paddings, const Shape& x, std::int64_t mode) {
  SmallVector<Pieces, 6> axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t before = paddings[2 * static_cast<std::size_t>(axis)], after = paddings[2 * static_cast<std::size_t>(axis) + 1],
        size = x.dim(axis);
    Pieces pieces{{before, 0, size, 1}};
    const std::int64_t edge = mode == kReflect ? 1 : 0;  // the outermost element is not repeated by reflection
    if (mode != kConstant && before > 0) pieces.push_back({0, before - 1 + edge, before, -1});
    if (mode != kConstant && after > 0) pieces.push_back({before + size, size - 1 - edge, after, -1});
    axes.push_back(pieces);
  }
  return axes;
}

template <class T>
bool holds_exactly(double value) {
  if constexpr (std::same_as<T, bool>) return value == 0 || value == 1;
  else if constexpr (std::integral<T>) return convert<double>(convert<T>(value)) == value;
  else return true;
}

void check_fill(const Infer& in) {
  if (in.choice("mode") != kConstant) return;
  const double value = in.real("constant_values");
  const bool exact = with_element(in.dtype(0), [&](auto* tag) { return holds_exactly<std::remove_pointer_t<decltype(tag)>>(value); });
  if (!exact) in.value_error("constant_values is " + attr_text(in.op.attrs[2], value) + ", which " + in.named(0) +
      " cannot hold; pass another number or cast x.");
}

// --- roll ---

// The axes of `axis`, which may repeat, each with the shift beside it.
void check_roll(const Infer& in) {
  if (!in.has("axis")) in.value_error("axis is none; name an axis for each shift.");
  const Ints &shift = in.ints("shift"), &axis = in.ints("axis");
  if (shift.size() != axis.size())
    in.value_error("shift has " + std::to_string(shift.size()) + " entries and axis " + std::to_string(axis.size()) +
        "; give one shift for each axis.");
  for (std::int64_t given : axis) axis_in(in, "axis", given, in.rank(0));
}

void roll_kernel(KernelCall& call) {
  const Shape& x = call.shape(0);
  Ints total(static_cast<std::size_t>(x.rank()), 0);  // in [0, size)
  const Ints &shift = call.ints("shift"), &axis = call.ints("axis");
  for (std::size_t i = 0; i < shift.size(); ++i) {
    const int a = axis_in(checked(call), "axis", axis[i], x.rank());
    if (x.dim(a) == 0) return;
    std::int64_t rest = shift[i] % x.dim(a);
    if (rest < 0) rest += x.dim(a);
    std::int64_t& sum = total[static_cast<std::size_t>(a)];
    sum = sum >= x.dim(a) - rest ? sum - (x.dim(a) - rest) : sum + rest;
  }
  SmallVector<Pieces, 6> axes;
  for (int a = 0; a < x.rank(); ++a) {
    const std::int64_t by = total[static_cast<std::size_t>(a)];
    Pieces pieces{{by, 0, x.dim(a) - by, 1}};
    if (by > 0) pieces.push_back({0, x.dim(a) - by, by, 1});
    axes.push_back(pieces);
  }
  const Ints strides = dense_strides(x);
  kernels::copy_pieces(call.in<void>(0), strides.data(), call.out<void>(), strides.data(), axes, size_of(call.dtype()));
}

// --- reverse_sequence ---

std::int64_t index_at(const KernelCall& call, std::size_t input, std::int64_t i) {
  return call.dtype(input) == DType::i32 ? call.in<std::int32_t>(input)[i] : call.in<std::int64_t>(input)[i];
}

void reverse_sequence_kernel(KernelCall& call) {
  const Shape& x = call.shape(0);
  const int seq = checked(call).axis("seq_axis", x.rank()), batch = checked(call).axis("batch_axis", x.rank());
  const Ints strides = dense_strides(x);
  SmallVector<Pieces, 6> axes;
  for (int a = 0; a < x.rank(); ++a) axes.push_back({{0, 0, x.dim(a), 1}});
  for (std::int64_t b = 0; b < x.dim(batch); ++b) {
    const std::int64_t length = index_at(call, 1, b);
    axes[static_cast<std::size_t>(batch)] = {{b, b, 1, 1}};
    axes[static_cast<std::size_t>(seq)] = {{0, length - 1, length, -1}, {length, length, x.dim(seq) - length, 1}};
    kernels::copy_pieces(call.in<void>(0), strides.data(), call.out<void>(), strides.data(), axes, size_of(call.dtype()));
  }
}

const std::int64_t kOne = 1, kTwo = 2;

// One more entry in front, which takes all of the axis.
Tensors batch_slice(const Batch& b) {
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    const std::string_view name = b.op.attrs[i].name;
    if (const auto* const list = std::get_if<Ints>(&attrs[i])) {
      if (name == "strides" && list->empty()) continue;
      Ints longer{name == "strides" ? 1 : 0};
      for (const std::int64_t entry : *list) longer.push_back(entry);
      attrs[i] = std::move(longer);
    } else {
      const std::int64_t open = name == "begin_mask" || name == "end_mask" ? 1 : 0;
      attrs[i] = std::get<std::int64_t>(attrs[i]) << 1 | open;
    }
  }
  return batch::again(b, batch::wholes(b), attrs);
}

}  // namespace

std::vector<Op> slice() {
  return {
      {.name = "strided_slice",
       .doc = "The elements begin, begin + stride, ... before end of each axis, as Python's x[begin:end:stride, ...]. Bit i of a mask "
              "makes entry i an open begin or end, an ellipsis, a new axis, or a single position whose axis is dropped.",
       .tf = "tf.strided_slice(x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)",
       .inputs = {"x"},
       .attrs = slice_attrs(),
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs { return {{in.dtype(0), slice_shape(in, 0, [](const Shape&) {})}}; },
       .kernel = [](KernelCall& call) {
         const Cut cut = cut_of(checked(call), call.shape(0), 0);
         const CutBox box(cut, call.shape(0));
         kernels::copy_box(call.in<char>(0) + box.offset * static_cast<std::int64_t>(size_of(call.dtype())), box.whole.data(),
             call.out<void>(), box.dense.data(),
                           cut.count.data(), call.shape(0).rank(), size_of(call.dtype()));
       },
       .grad = [](const Backward& b) -> Grads {
         return {strided_slice_grad(b.dy(), b.x(), b.ints("begin"), b.ints("end"), slice_options<StridedSliceGradOptions>(b))};
       },
       .batch = batch_slice,
       .traits = kMoves,
       .samples = {{{f32({2, 3, 4})}, {{"begin", Ints{0, 2, 3}}, {"end", Ints{2, 0, 0}}, {"strides", Ints{1, -1, -2}}}},
                   {{f32({2, 3, 4})}, {{"begin", Ints{-1, 0, 0, 1}}, {"end", Ints{0, 0, 0, 9}}, {"ellipsis_mask", kTwo}, {"new_axis_mask", std::int64_t{4}}, {"shrink_axis_mask", kOne}}},
                   {{f32({5})}, {{"begin", Ints{0}}, {"end", Ints{0}}, {"strides", Ints{-2}}, {"begin_mask", kOne}, {"end_mask", kOne}}},
                   {{f32({3, 2})}, {{"begin", Ints{1}}, {"end", Ints{1}}}}}},

      {.name = "strided_slice_grad",
       .doc = "Zeros of like's shape with dy where strided_slice of the same attributes reads: the transpose of strided_slice.",
       .inputs = {"dy", "like:any"},
       .attrs = slice_attrs(),
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         require_slice(in, 0, 1);
         return infer::like_second(in);
       },
       .kernel = [](KernelCall& call) {
         const std::int64_t total = call.out_shape().num_elements();
         if (total == 0) return;
         std::memset(call.out<void>(), 0, static_cast<std::size_t>(total) * size_of(call.dtype()));
         put_slice(call, 0, 1);
       },
       .grad = [](const Backward& b) -> Grads { return {strided_slice(b.dy(), b.ints("begin"), b.ints("end"),
           slice_options<StridedSliceOptions>(b))}; },
       .batch = batch_slice,
       .traits = kMoves,
       .samples = {{{f32({2, 2, 2}), f32({2, 3, 4})}, {{"begin", Ints{0, 2, 3}}, {"end", Ints{2, 0, 0}}, {"strides", Ints{1, -1, -2}}}},
                   {{f32({3, 1}), i32({2, 3})}, {{"begin", Ints{1, 0, 0}}, {"end", Ints{0, 0, 0}}, {"ellipsis_mask", kTwo}, {"new_axis_mask", std::int64_t{4}}, {"shrink_axis_mask", kOne}}}}},

      {.name = "strided_slice_update",
       .doc = "x with value where strided_slice of the same attributes reads.",
       .inputs = {"x", "value"},
       .attrs = slice_attrs(),
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         require_slice(in, 1, 0);
         return infer::same(in);
       },
       .kernel = [](KernelCall& call) {
         start_from_first(call);
         if (call.inputs[1].size() > 0) put_slice(call, 1, 0);
       },
       .grad = [](const Backward& b) -> Grads {
         const Ints &begin = b.ints("begin"), &end = b.ints("end");
         return {strided_slice_update(b.dy(), zeros_like(b.x(1)), begin, end, slice_options<StridedSliceUpdateOptions>(b)),
                 strided_slice(b.dy(), begin, end, slice_options<StridedSliceOptions>(b))};
       },
       .batch = batch_slice,
       .traits = kMoves | kChanges,
       .samples = {{{f32({2, 3, 4}), f32({2, 2, 2})}, {{"begin", Ints{0, 2, 3}}, {"end", Ints{2, 0, 0}}, {"strides", Ints{1, -1, -2}}}},
                   {{f32({2, 3}), f32({3, 1})}, {{"begin", Ints{1, 0, 0}}, {"end", Ints{0, 0, 0}}, {"ellipsis_mask", kTwo}, {"new_axis_mask", std::int64_t{4}}, {"shrink_axis_mask", kOne}}},
                   {{f32({3, 2}), f32({0, 2})}, {{"begin", Ints{1}}, {"end", Ints{1}}}}}},

      {.name = "slice",
       .doc = "The box of the given size that starts at begin; a size of -1 reaches to the end of its axis.",
       .tf = "tf.slice(x, begin, size)",
       .inputs = {"x"},
       .attrs = {attr::list("begin"), attr::list("size")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const Ints &begin = in.ints("begin"), &size = in.ints("size");
         const Shape& x = in.shape(0);
         if (begin.size() != size.size() || begin.size() != static_cast<std::size_t>(x.rank()))
           in.shape_error("begin has " + std::to_string(begin.size()) + " entries and size " + std::to_string(size.size()) + "; " +
               in.named(0) + " needs one for each axis.");
         const auto refuse_begin = [&](std::size_t a) {
           in.index_error("begin " + std::to_string(begin[a]) + " is out of range for axis " + std::to_string(a) + " of " + in.named(0) +
               "; it must be from 0 to the size.");
         };
         const auto refuse_end = [&](std::size_t a) {
           in.index_error("begin " + std::to_string(begin[a]) + " and size " + std::to_string(size[a]) + " reach beyond axis " +
               std::to_string(a) + " of " + in.named(0) + "; use a smaller size or -1.");
         };
         // What is wrong whatever the sizes are comes first, as it does where they are not known.
         for (std::size_t a = 0; a < size.size(); ++a) {
           if (size[a] < -1) in.shape_error("size has " + std::to_string(size[a]) + "; sizes must be 0 or more, or -1 for the rest.");
           if (begin[a] < 0) refuse_begin(a);
           if (!checked_add(begin[a], size[a])) refuse_end(a);
         }
         Ints result;
         for (std::size_t a = 0; a < size.size(); ++a) {
           const std::int64_t have = x.dim(static_cast<int>(a));
           if (infer::known(have) && begin[a] > have) refuse_begin(a);
           if (infer::known(have) && begin[a] + size[a] > have) refuse_end(a);
           result.push_back(size[a] >= 0 ? size[a] : infer::known(have) ? have - begin[a] : kUnknown);
         }
         // No x holds what does not fit 63 bits.
         if (!bytes_fit(in.dtype(0), size)) in.index_error("the box is " + Shape(result).str() + ", which is more than " + in.named(0) + " can hold; use smaller sizes.");
         return {{in.dtype(0), Shape(result)}};
       },
       .expand = [](const Expand& e) -> Tensors {
         const Ints &begin = e.ints("begin"), &size = e.ints("size");
         Ints end;
         std::int64_t open = 0;
         for (std::size_t a = 0; a < size.size(); ++a) {
           if (size[a] < 0) open |= std::int64_t{1} << a;
           end.push_back(size[a] < 0 ? 0 : begin[a] + size[a]);  // the sum was checked by .infer
         }
         return {strided_slice(e[0], begin, end, {.end_mask = open}, e.at)};
       },
       .samples = {{{f32({2, 3, 4})}, {{"begin", Ints{0, 1, 1}}, {"size", Ints{1, -1, 2}}}},
                   {{f32({3})}, {{"begin", Ints{3}}, {"size", Ints{0}}}}}},

      {.name = "pad",
       .doc = "Adds elements before and after each axis: a constant, or x mirrored without (reflect) or with (symmetric) its edge.",
       .tf = "tf.pad(x, paddings, mode, constant_values)",
       .inputs = {"x"},
       .attrs = {attr::pairs("paddings"), attr::choice("PadMode", "mode", {"constant", "reflect", "symmetric"}),
           attr::real("constant_values", 0)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         check_fill(in);
         return {{in.dtype(0), padded_shape(in, in.shape(0), in.named(0))}};
       },
       .kernel = [](KernelCall& call) {
         const Shape &x = call.shape(0), &y = call.out_shape();
         if (call.choice("mode") == kConstant)
           with_element(call.dtype(), [&](auto* tag) {
             using T = std::remove_pointer_t<decltype(tag)>;
             std::fill_n(call.out<T>(), y.num_elements(), convert<T>(call.real("constant_values")));
           });
         kernels::copy_pieces(call.in<void>(0), dense_strides(x).data(), call.out<void>(), dense_strides(y).data(),
                              padding_pieces(call.ints("paddings"), x, call.choice("mode")), size_of(call.dtype()));
       },
       .grad = [](const Backward& b) -> Grads {
         return {pad_grad(b.dy(), b.x(), pairs_of(b.ints("paddings")), {.mode = static_cast<PadMode>(b.choice("mode"))})};
       },
       .batch = [](const Batch& b) -> Tensors { return batch::prefix(b, "paddings", {0, 0}); },
       .traits = kMoves,
       .samples = {{{f32({2, 3})}, {{"paddings", Ints{1, 0, 0, 2}}}},
                   {{f32({2, 3})}, {{"paddings", Ints{1, 1, 0, 2}}, {"mode", kOne}}},
                   {{f32({2, 3})}, {{"paddings", Ints{2, 1, 3, 0}}, {"mode", kTwo}}},
                   {{f32({2})}, {{"paddings", Ints{1, 1}}, {"constant_values", 1.0}}}}},

      {.name = "pad_grad",
       .doc = "Adds up what pad made of each element of like: the transpose of pad.",
       .inputs = {"dy", "like:any"},
       .attrs = {attr::pairs("paddings"), attr::choice("PadMode", "mode", {"constant", "reflect", "symmetric"})},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         const Shape expected = padded_shape(in, in.shape(1), in.named(1));
         if (!infer::compatible(in.shape(0), expected)) in.shape_error(in.named(0) + " must be " + expected.str() +
             ", the padded shape of " + in.named(1) + ".");
         return infer::like_second(in);
       },
       .kernel = [](KernelCall& call) {
         const Shape &x = call.out_shape(), &y = call.shape(0);
         const auto pieces = padding_pieces(call.ints("paddings"), x, call.choice("mode"));
         with_element(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           if constexpr (std::floating_point<T>) {
             std::fill_n(call.out<T>(), x.num_elements(), T(0));
             kernels::add_pieces(call.out<T>(), dense_strides(x).data(), call.in<T>(0), dense_strides(y).data(), pieces);
           }
         });
       },
       .grad = [](const Backward& b) -> Grads { return {pad(b.dy(), pairs_of(b.ints("paddings")),
           {.mode = static_cast<PadMode>(b.choice("mode"))})}; },
       .batch = [](const Batch& b) -> Tensors { return batch::prefix(b, "paddings", {0, 0}); },
       .samples = {{{f32({3, 5}), f32({2, 3})}, {{"paddings", Ints{1, 0, 0, 2}}}},
                   {{f32({4, 5}), f32({2, 3})}, {{"paddings", Ints{1, 1, 0, 2}}, {"mode", kOne}}},
                   {{f32({5, 6}), i32({2, 3})}, {{"paddings", Ints{2, 1, 3, 0}}, {"mode", kTwo}}}}},

      {.name = "reverse",
       .doc = "Reverses the order along the given axes.",
       .tf = "tf.reverse(x, axis)",
       .inputs = {"x"},
       .attrs = {attr::required_axes("axis")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.axes("axis", in.rank(0));
         return infer::same(in);
       },
       .expand = [](const Expand& e) -> Tensors {
         const int rank = e[0].rank();
         const Ints ends(static_cast<std::size_t>(rank), 0);
         Ints strides(static_cast<std::size_t>(rank), 1);
         for (std::int64_t axis : checked(e).axes("axis", rank)) strides[static_cast<std::size_t>(axis)] = -1;
         const std::int64_t open = (std::int64_t{1} << rank) - 1;
         return {strided_slice(e[0], ends, ends, {.strides = strides, .begin_mask = open, .end_mask = open}, e.at)};
       },
       .samples = {{{f32({2, 3, 4})}, {{"axis", Ints{0, -1}}}}, {{f32({3})}, {{"axis", Ints{0}}}}, {{f32({})}, {{"axis", Ints{}}}}}},

      {.name = "roll",
       .doc = "Shifts along axes; what leaves at one end enters at the other. The shifts of an axis named twice add up.",
       .tf = "tf.roll(x, shift, axis)",
       .inputs = {"x"},
       .attrs = {attr::list("shift"), attr::required_axes("axis")},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         check_roll(in);
         return infer::same(in);
       },
       .kernel = roll_kernel,
       .grad = [](const Backward& b) -> Grads {
         Ints shift, axis;
         for (std::size_t i = 0; i < b.ints("shift").size(); ++i) {
           std::int64_t by = b.ints("shift")[i];
           axis.push_back(b.ints("axis")[i]);
           if (by == std::numeric_limits<std::int64_t>::min()) {  // has no negative: go back one step, then the rest
             shift.push_back(1);
             axis.push_back(b.ints("axis")[i]);
             ++by;
           }
           shift.push_back(-by);
         }
         return {roll(b.dy(), shift, axis)};
       },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({2, 3, 4})}, {{"shift", Ints{1, -2}}, {"axis", Ints{0, 2}}}},
                   {{f32({5})}, {{"shift", Ints{7}}, {"axis", Ints{-1}}}}, {{f32({5})}, {{"shift", Ints{1, 1}}, {"axis", Ints{0, 0}}}}}},

      {.name = "reverse_sequence",
       .doc = "Reverses the first lengths[b] elements along seq_axis, for each b along batch_axis.",
       .tf = "tf.reverse_sequence(x, lengths, seq_axis, batch_axis)",
       .inputs = {"x", "lengths:index"},
       .attrs = {attr::axis("seq_axis"), attr::axis("batch_axis", 0)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         const int seq = in.axis("seq_axis", in.rank(0)), batch = in.axis("batch_axis", in.rank(0));
         if (seq == batch) in.value_error("seq_axis and batch_axis are both " + std::to_string(seq) + "; they must differ.");
         in.require_rank(1, 1);
         if (!infer::compatible(in.shape(1).dim(0), in.shape(0).dim(batch)))
           in.shape_error(in.named(1) + " must have one length for each of axis " + std::to_string(batch) + " of " + in.named(0) + ".");
         return infer::same(in);
       },
       .validate = [](const KernelCall& call) {
         const std::int64_t most = call.shape(0).dim(checked(call).axis("seq_axis", call.shape(0).rank()));
         for (std::int64_t b = 0; b < call.shape(1).dim(0); ++b) {
           const std::int64_t length = index_at(call, 1, b);
           if (length < 0 || length > most)
             call.index_error("lengths[" + std::to_string(b) + "] is " + std::to_string(length) + "; it must be from 0 to " +
                 std::to_string(most) + ", the size of seq_axis.");
         }
       },
       .kernel = reverse_sequence_kernel,
       .grad = [](const Backward& b) -> Grads { return {reverse_sequence(b.dy(), b.x(1), b.integer("seq_axis"),
           {.batch_axis = b.integer("batch_axis")})}; },
       .batch = [](const Batch& b) -> Tensors {
         return b.batched[1] ? Tensors() : batch::again(b, {b.inputs[0], b.inputs[1]}, batch::shifted(b));
       },
       .traits = kMoves,
       .samples = {{{f32({2, 3, 2}), i32({2}).exactly({2, 3})}, {{"seq_axis", kOne}}},
                   {{f32({4, 3}), i64({3}).exactly({0, 1, 4})}, {{"seq_axis", std::int64_t{0}}, {"batch_axis", kOne}}}}},
  };
}

}  // namespace weft::inline v0::rows
