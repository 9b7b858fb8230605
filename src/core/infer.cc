#include "core/infer.h"

#include <algorithm>

#include "base/checked.h"

namespace weft::inline v0::infer {

bool compatible(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (!compatible(a.dim(i), b.dim(i))) return false;
  return true;
}

std::int64_t mul(const OpArgs& in, std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (!known(a) || !known(b)) return kUnknown;
  const auto product = checked_mul(a, b);
  if (!product) in.shape_error("the size " + std::to_string(a) + " * " + std::to_string(b) + " does not fit 63 bits; use smaller shapes.");
  return *product;
}

std::int64_t add(const OpArgs& in, std::int64_t a, std::int64_t b) {
  if (!known(a) || !known(b)) return kUnknown;
  const auto sum = checked_add(a, b);
  if (!sum) in.shape_error("the size " + std::to_string(a) + " + " + std::to_string(b) + " does not fit 63 bits; use smaller shapes.");
  return *sum;
}

std::int64_t count(const OpArgs& in, const Shape& shape) {
  std::int64_t total = 1;
  for (std::int64_t size : shape) total = mul(in, total, size);
  return total;
}

namespace {

std::string words(const Infer& in, Described what, const Shape& shape) {
  return what.before + (what.input == Described::kShapeItself ? shape.str() : in.named(what.input));
}

}  // namespace

Shape broadcast(const Infer& in, const Shape& x, const Shape& y, Described a, Described b) {
  if (x == y) return x;
  const int rank = std::max(x.rank(), y.rank());
  Ints sizes(static_cast<std::size_t>(rank));
  for (int axis = 0; axis < rank; ++axis) {
    const int i = axis - (rank - x.rank()), j = axis - (rank - y.rank());
    const std::int64_t p = i < 0 ? 1 : x.dim(i), q = j < 0 ? 1 : y.dim(j);
    if (p == 1) sizes[static_cast<std::size_t>(axis)] = q;
    else if (q == 1) sizes[static_cast<std::size_t>(axis)] = p;
    else if (compatible(p, q)) sizes[static_cast<std::size_t>(axis)] = merge(p, q);
    else
      in.shape_error("cannot broadcast " + words(in, a, x) + " with " + words(in, b, y) + ": axis " + std::to_string(axis) + " is " +
                     std::to_string(p) + " and " + std::to_string(q) + "; sizes must match or be 1.");
  }
  return Shape(sizes);
}

Shape broadcast(const Infer& in, std::size_t first, std::size_t last) {
  Shape shape = in.shape(first);
  for (std::size_t i = first + 1; i <= last; ++i) {
    if (shape == in.shape(i)) continue;
    const Described so_far = i == first + 1 ? Described{"", first} : Described{"the earlier inputs "};
    shape = broadcast(in, shape, in.shape(i), so_far, {"", i});
  }
  return shape;
}

void require_same_shape(const Infer& in, std::size_t i, std::size_t as) {
  if (!compatible(in.shape(i), in.shape(as)))
    in.shape_error(in.named(i) + " must have the shape of " + in.named(as) + ".");
}

Specs same(const Infer& in) { return {in.spec(0)}; }

Specs pointwise(const Infer& in) {
  const DType dtype = in.dtype(0);
  return {{in.op.tile ? in.op.tile.result(dtype) : dtype, broadcast(in, 0, in.count() - 1)}};
}

Specs pointwise_bool(const Infer& in) { return {{bool_, broadcast(in, 0, in.count() - 1)}}; }

Shape reduced_shape(const Infer&, const Shape& shape, const Ints& axes, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!gone) result.append(shape.dim(axis));
    else if (keepdims) result.append(1);
  }
  return result;
}

Specs reduce(const Infer& in) {
  return {{in.dtype(0), reduced_shape(in, in.shape(0), in.axes("axis", in.rank(0)), in.flag("keepdims"))}};
}

Specs like_second(const Infer& in) { return {{in.dtype(0), in.shape(1)}}; }

}  // namespace weft::inline v0::infer
