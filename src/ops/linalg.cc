// Linear algebra.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/strides.h"
#include "kernels/linalg.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

Shape batch_of(const Shape& shape, std::size_t matrix_rank = 2) { return Shape(shape.sizes().first(shape.sizes().size() - matrix_rank)); }
std::int64_t rows_of(const Shape& shape) { return shape.dim(shape.rank() - 2); }
std::int64_t cols_of(const Shape& shape) { return shape.dim(shape.rank() - 1); }

void require_square(const Infer& in, std::size_t i = 0) {
  in.require_rank_at_least(i, 2);
  if (!infer::compatible(rows_of(in.shape(i)), cols_of(in.shape(i))))
    in.shape_error(in.named(i) + " is not square; its last two sizes must match.");
}

Specs infer_square(const Infer& in) {
  require_square(in);
  return {in.spec(0)};
}

Specs infer_determinant(const Infer& in) {
  require_square(in);
  return Specs(in.op.outputs.size(), Spec{in.dtype(0), batch_of(in.shape(0))});
}

Specs infer_solve(const Infer& in) {
  require_square(in, 0);
  in.require_rank_at_least(1, 2);
  const Shape &a = in.shape(0), &b = in.shape(1);
  const std::int64_t size = infer::merge(rows_of(a), cols_of(a));
  if (!infer::compatible(size, rows_of(b))) in.shape_error(in.named(1) + " must have " + std::to_string(size) + " rows, as many as " + in.named(0) + ".");
  Shape result = infer::broadcast(in, batch_of(a), batch_of(b), {"the batch axes of ", 0}, {"those of ", 1});
  result.append(infer::merge(rows_of(b), size));
  result.append(cols_of(b));
  return {{in.dtype(0), result}};
}

// "a", or "a[1,0]" for the matrix at that place of the batch.
std::string matrix_name(const KernelCall& call, std::size_t input, std::int64_t matrix) {
  const Shape batch = batch_of(call.shape(input));
  if (batch.rank() == 0) return call.name(input);
  std::string place;
  for (int axis = batch.rank() - 1; axis >= 0; matrix /= batch.dim(axis), --axis) place = std::to_string(matrix % batch.dim(axis)) + (place.empty() ? "" : ",") + place;
  return call.name(input) + "[" + place + "]";
}

[[noreturn]] void refuse_singular(const KernelCall& call, std::int64_t matrix, std::int64_t pivot) {
  call.value_error(matrix_name(call, 0, matrix) + " is singular: pivot " + std::to_string(pivot) + " is 0; it must be invertible.");
}

template <class F>
void with_float(DType dtype, const F& f) {
  if (dtype == DType::f64) f(static_cast<double*>(nullptr));
  else f(static_cast<float*>(nullptr));
}

// Calls each(matrix number, elements) for the matrices of input 0, whose elements are n * n.
template <class T, class Each>
void for_each_matrix(KernelCall& call, const Each& each) {
  const Shape& shape = call.shape(0);
  const std::int64_t n = rows_of(shape), count = batch_of(shape).num_elements();
  if (call.out_shape().num_elements() == 0) return;  // there may be 2^40 matrices of no elements
  for (std::int64_t i = 0; i < count; ++i) each(i, n, call.in<T>(0) + i * n * n);
}

template <class T>
void copy_matrix(std::int64_t n, const T* from, bool transposed, T* to) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) to[i * n + j] = transposed ? from[j * n + i] : from[i * n + j];
}

template <class T>
struct Factors {
  std::vector<T> lu;
  std::vector<std::int64_t> pivots;
  std::int64_t singular = -1;

  void compute(std::int64_t n, const T* a, bool transposed) {
    lu.resize(static_cast<std::size_t>(n * n));
    pivots.resize(static_cast<std::size_t>(n));
    copy_matrix(n, a, transposed, lu.data());
    singular = kernels::lu_factor(n, lu.data(), pivots.data());
  }
};

// For every matrix of the result: copies the right-hand side there and calls solve(matrix of a, its number, whether it is
// another one than before, the result).
template <class T, class Solve>
void for_each_system(KernelCall& call, const Solve& solve) {
  const Shape &a = call.shape(0), &b = call.shape(1), batch = batch_of(call.out_shape());
  const std::int64_t a_size = rows_of(a) * cols_of(a), b_size = rows_of(b) * cols_of(b), count = batch.num_elements();
  if (call.out_shape().num_elements() == 0) return;  // there may be 2^40 systems without unknowns
  std::int64_t a_strides[kMaxRank], b_strides[kMaxRank], before = -1;
  broadcast_strides(batch_of(a), batch, a_strides);
  broadcast_strides(batch_of(b), batch, b_strides);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t a_at = 0, b_at = 0, rest = i;
    for (int axis = batch.rank() - 1; axis >= 0; rest /= batch.dim(axis), --axis) {
      a_at += rest % batch.dim(axis) * a_strides[axis];
      b_at += rest % batch.dim(axis) * b_strides[axis];
    }
    T* x = call.out<T>() + i * b_size;
    std::copy_n(call.in<T>(1) + b_at * b_size, b_size, x);
    solve(call.in<T>(0) + a_at * a_size, a_at, a_at != before, x);
    before = a_at;
  }
}

// Calls f with a null pointer of an unsigned type as wide as the elements: for kernels that only move them.
template <class F>
void with_bits(DType dtype, const F& f) {
  switch (size_of(dtype)) {
    case 1: return f(static_cast<std::uint8_t*>(nullptr));
    case 2: return f(static_cast<std::uint16_t*>(nullptr));
    case 4: return f(static_cast<std::uint32_t*>(nullptr));
    default: return f(static_cast<std::uint64_t*>(nullptr));
  }
}

// Writes x, a batch of vectors, on the diagonals of the output; the rest is zero, whose bits are zero in every dtype.
void put_diagonal(KernelCall& call) {
  const Shape& shape = call.out_shape();
  const std::int64_t rows = rows_of(shape), cols = cols_of(shape), length = std::min(rows, cols), total = shape.num_elements();
  if (total == 0) return;
  with_bits(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T* x = call.in<T>(0);
    T* y = call.out<T>();
    std::fill_n(y, total, T(0));
    for (; y != call.out<T>() + total; y += rows * cols, x += length)
      for (std::int64_t i = 0; i < length; ++i) y[i * cols + i] = x[i];
  });
}

std::int64_t shorter(std::int64_t a, std::int64_t b) { return infer::known(a) && infer::known(b) ? std::min(a, b) : kUnknown; }

Tensor transposed(const Tensor& x) { return einsum("...ij->...ji", {x}); }

Axes axes_of(const Expand& x) { return x.has("axis") ? Axes(x.ints("axis")) : Axes(); }

// dx = l^-T phi(l^T dl) l^-1, made symmetric; phi takes the lower triangle and half of the diagonal.
Grads cholesky_grad(const Backward& b) {
  const Tensor& l = b.y();
  const Tensor p = matmul(l, b.dy(), {.transpose_a = true});
  const Tensor phi = 0.5 * (band_part(p, -1, 0) + (p - band_part(p, 0, -1)));
  const Tensor half = triangular_solve(l, phi, {.adjoint = true});
  const Tensor turned = triangular_solve(l, transposed(half), {.adjoint = true});
  return {0.5 * (turned + transposed(turned))};
}

// With op(a) x = b: db solves the transposed system for dx, and da = -db x^T (transposed for a transposed a).
Grads solve_grad(const Backward& b, const Tensor& db) {
  const Tensor& x = b.y();
  Grad da;
  if (b.needs(0)) da = -(b.flag("adjoint") ? matmul(x, db, {.transpose_b = true}) : matmul(db, x, {.transpose_b = true}));
  return {da, db};
}

}  // namespace

std::vector<Op> linalg() {
  return {
      {.name = "diag",
       .doc = "Square matrices with the last axis of x on their diagonals and zeros elsewhere.",
       .tf = "tf.linalg.diag(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 1);
         Ints sizes(in.shape(0).begin(), in.shape(0).end());
         sizes.push_back(sizes.back());
         if (sizes.size() > static_cast<std::size_t>(kMaxRank)) in.shape_error(in.named(0) + " has the highest rank; a result of one more is not possible.");
         const Shape result(sizes);
         infer::count(in, result);
         return {{in.dtype(0), result}};
       },
       .kernel = put_diagonal,
       .grad = [](const Backward& b) -> Grads { return {diag_part(b.dy())}; },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({3})}}, {{f32({2, 3})}}}},

      {.name = "diag_part",
       .doc = "The diagonals of the matrices in the last two axes, which need not be square.",
       .tf = "tf.linalg.diag_part(x)",
       .inputs = {"x"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 2);
         Shape result = batch_of(in.shape(0));
         result.append(shorter(rows_of(in.shape(0)), cols_of(in.shape(0))));
         return {{in.dtype(0), result}};
       },
       .kernel = [](KernelCall& call) {
         const Shape& shape = call.shape(0);
         const std::int64_t cols = cols_of(shape), matrix = rows_of(shape) * cols, length = std::min(rows_of(shape), cols);
         const std::int64_t count = call.out_shape().num_elements();
         with_bits(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           for (std::int64_t i = 0; i < count; ++i) call.out<T>()[i] = call.in<T>(0)[i / length * matrix + i % length * (cols + 1)];
         });
       },
       .grad = [](const Backward& b) -> Grads { return {diag_like(b.dy(), b.x())}; },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({3, 4})}}, {{f32({2, 3, 2})}}}},

      {.name = "diag_like",
       .doc = "Zeros of the shape of like with x on the diagonals of its last two axes: the transpose of diag_part.",
       .inputs = {"x", "like:any"},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(1, 2);
         Shape expected = batch_of(in.shape(1));
         expected.append(shorter(rows_of(in.shape(1)), cols_of(in.shape(1))));
         if (!infer::compatible(in.shape(0), expected)) in.shape_error(in.named(0) + " must have the shape " + expected.str() + " of the diagonals of " + in.named(1) + ".");
         return infer::like_second(in);
       },
       .kernel = put_diagonal,
       .grad = [](const Backward& b) -> Grads { return {diag_part(b.dy())}; },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({3}), f32({3, 4})}}, {{f32({2, 2}), i32({2, 3, 2})}}}},

      {.name = "trace",
       .doc = "The sum of the diagonal of the matrices in the last two axes.",
       .tf = "tf.linalg.trace(x)",
       .inputs = {"x"},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 2);
         return {{in.dtype(0), batch_of(in.shape(0))}};
       },
       .expand = [](const Expand& x) -> Tensors { return {sum(diag_part(x[0], x.at), {.axis = -1}, x.at)}; },
       .samples = {{{f32({3, 3})}}, {{f32({2, 3, 4})}}}},

      {.name = "band_part",
       .doc = "The matrices in the last two axes with zeros outside a band: `lower` diagonals are kept below the main one and `upper` above it; -1 keeps all.",
       .tf = "tf.linalg.band_part(x, num_lower=lower, num_upper=upper)",
       .inputs = {"x"},
       .attrs = {attr::integer("lower").at_least(-1), attr::integer("upper").at_least(-1)},
       .dtypes = kAnything,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 2);
         return {in.spec(0)};
       },
       .kernel = [](KernelCall& call) {
         const std::int64_t lower = call.integer("lower"), upper = call.integer("upper");
         const std::int64_t rows = rows_of(call.shape(0)), cols = cols_of(call.shape(0)), total = call.shape(0).num_elements();
         with_bits(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           for (std::int64_t i = 0; i < total; ++i) {
             const std::int64_t row = i / cols % rows, col = i % cols;
             const bool inside = (lower < 0 || row - col <= lower) && (upper < 0 || col - row <= upper);
             call.out<T>()[i] = inside ? call.in<T>(0)[i] : T(0);
           }
         });
       },
       .grad = [](const Backward& b) -> Grads { return {band_part(b.dy(), b.integer("lower"), b.integer("upper"))}; },
       .batch = batch::carry,
       .traits = kMoves,
       .samples = {{{f32({4, 4})}, {{"lower", std::int64_t{1}}, {"upper", std::int64_t{0}}}}, {{f32({2, 3, 4})}, {{"lower", std::int64_t{-1}}, {"upper", std::int64_t{1}}}}}},

      {.name = "norm",
       .doc = "The norm of the elements over axes, all of them by default: the root of order `ord` of the sum of |x|^ord; for ord inf the largest |x|.",
       .tf = "tf.norm(x, ord, axis, keepdims) | tf.linalg.norm(x, ord, axis, keepdims)",
       .inputs = {"x"},
       .attrs = {attr::real("ord", 2.0), attr::axes("axis"), attr::flag("keepdims", false)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         if (!(in.real("ord") > 0)) in.value_error("ord is " + attr_text(in.op.attrs[0], in.real("ord")) + "; it must be greater than 0.");
         return infer::reduce(in);
       },
       .expand = [](const Expand& x) -> Tensors {
         const double ord = x.real("ord");
         const Axes axis = axes_of(x);
         const bool keepdims = x.flag("keepdims");
         if (ord == 2) return {euclidean_norm(x[0], {.axis = axis, .keepdims = keepdims}, x.at)};
         const Tensor sizes = abs(x[0], x.at);
         if (std::isinf(ord)) return {max(sizes, {.axis = axis, .keepdims = keepdims}, x.at)};
         if (ord == 1) return {sum(sizes, {.axis = axis, .keepdims = keepdims}, x.at)};
         return {pow(sum(pow(sizes, ord, x.at), {.axis = axis, .keepdims = keepdims}, x.at), 1 / ord, x.at)};
       },
       .samples = {{{f32({2, 3})}},
                   {{f32({2, 3}).range(0.5, 2)}, {{"ord", 1.0}, {"axis", Ints{1}}}},
                   {{f32({2, 3}).range(0.5, 2).distinct()}, {{"ord", std::numeric_limits<double>::infinity()}, {"axis", Ints{0}}, {"keepdims", true}}},
                   {{f32({2, 3}).range(0.5, 2)}, {{"ord", 3.0}, {"axis", Ints{-1}}}}}},

      {.name = "l2_normalize",
       .doc = "x divided by its Euclidean norm over axes, all of them by default; the square of the norm counts as epsilon if it is smaller.",
       .tf = "tf.linalg.l2_normalize(x, axis, epsilon) | tf.math.l2_normalize(x, axis, epsilon) | tf.nn.l2_normalize(x, axis, epsilon)",
       .inputs = {"x"},
       .attrs = {attr::axes("axis"), attr::real("epsilon", 1e-12).at_least(0)},
       .dtypes = kFloats,
       .infer = [](const Infer& in) -> Specs {
         in.axes("axis", in.rank(0));
         return {in.spec(0)};
       },
       .expand = [](const Expand& x) -> Tensors {
         const Tensor wide = widened(x[0]);  // in f16 the default epsilon is 0
         const Tensor squares = sum(square(wide, x.at), {.axis = axes_of(x), .keepdims = true}, x.at);
         return {narrowed(wide * rsqrt(maximum(squares, x.real("epsilon"), x.at), x.at), x[0].dtype())};
       },
       .samples = {{{f32({2, 3})}}, {{f32({2, 3})}, {{"axis", Ints{1}}}}, {{f32({2, 3, 2})}, {{"axis", Ints{0, -1}}, {"epsilon", 1e-3}}}}},

      {.name = "cholesky",
       .doc = "The lower triangular matrix l with l l^T = x for symmetric positive definite matrices in the last two axes; of others the symmetric part is taken.",
       .tf = "tf.linalg.cholesky(x)",
       .inputs = {"x"},
       .dtypes = kFloats,
       .infer = infer_square,
       .kernel = [](KernelCall& call) {
         with_float(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           for_each_matrix<T>(call, [&](std::int64_t i, std::int64_t n, const T* x) {
             const std::int64_t row = kernels::cholesky(n, x, call.out<T>() + i * n * n);
             if (row >= 0)
               call.value_error(matrix_name(call, 0, i) + " is not positive definite: pivot " + std::to_string(row) +
                                " is not positive; add a multiple of the identity or check its values.");
           });
         });
       },
       .grad = cholesky_grad,
       .batch = batch::carry,
       .traits = kMayFail,
       .samples = {{{f32({3, 3}).positive_definite()}}, {{f32({2, 2, 2}).positive_definite()}}}},

      {.name = "inv",
       .doc = "The inverse of the matrices in the last two axes, or its transpose.",
       .tf = "tf.linalg.inv(x, adjoint)",
       .inputs = {"x"},
       .attrs = {attr::flag("adjoint", false)},
       .dtypes = kFloats,
       .infer = infer_square,
       .kernel = [](KernelCall& call) {
         with_float(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           Factors<T> factors;
           for_each_matrix<T>(call, [&](std::int64_t i, std::int64_t n, const T* x) {
             factors.compute(n, x, call.flag("adjoint"));
             if (factors.singular >= 0) refuse_singular(call, i, factors.singular);
             T* y = call.out<T>() + i * n * n;
             std::fill_n(y, n * n, T(0));
             for (std::int64_t k = 0; k < n; ++k) y[k * n + k] = T(1);
             kernels::lu_solve(n, n, factors.lu.data(), factors.pivots.data(), y);
           });
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const Tensor &y = b.y(), dy = b.dy();
         if (b.flag("adjoint")) return {-matmul(matmul(y, dy, {.transpose_b = true}), y)};
         return {-matmul(matmul(y, dy, {.transpose_a = true}), y, {.transpose_b = true})};
       },
       .batch = batch::carry,
       .traits = kMayFail,
       .samples = {{{f32({3, 3}).positive_definite()}}, {{f32({2, 2, 2}).positive_definite()}, {{"adjoint", true}}}}},

      {.name = "det",
       .doc = "The determinant of the matrices in the last two axes. Its gradient needs them invertible.",
       .tf = "tf.linalg.det(x)",
       .inputs = {"x"},
       .dtypes = kFloats,
       .infer = infer_determinant,
       .kernel = [](KernelCall& call) {
         with_float(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           Factors<T> factors;
           for_each_matrix<T>(call, [&](std::int64_t i, std::int64_t n, const T* x) {
             factors.compute(n, x, false);
             call.out<T>()[i] = kernels::lu_det(n, factors.lu.data(), factors.pivots.data());
           });
         });
       },
       .grad = [](const Backward& b) -> Grads { return {expand_dims(b.dy() * b.y(), {-2, -1}) * inv(b.x(), {.adjoint = true})}; },
       .batch = batch::carry,
       .samples = {{{f32({3, 3}).positive_definite()}}, {{f32({2, 2, 2}).positive_definite()}}}},

      {.name = "slogdet",
       .doc = "The sign of the determinant of the matrices in the last two axes and the logarithm of its absolute value; 0 and -inf for singular ones. Its gradient needs them invertible.",
       .tf = "tf.linalg.slogdet(x)",
       .inputs = {"x"},
       .outputs = {"sign", "log_abs_det"},
       .dtypes = kFloats,
       .infer = infer_determinant,
       .kernel = [](KernelCall& call) {
         with_float(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           Factors<T> factors;
           for_each_matrix<T>(call, [&](std::int64_t i, std::int64_t n, const T* x) {
             factors.compute(n, x, false);
             const auto [sign_of, log_abs] = kernels::lu_log_det(n, factors.lu.data(), factors.pivots.data());
             call.out<T>(0)[i] = sign_of;
             call.out<T>(1)[i] = log_abs;
           });
         });
       },
       .grad = [](const Backward& b) -> Grads {
         if (!b.has_dy(1)) return {zeros_like(b.x())};  // the sign is piecewise constant
         return {expand_dims(b.dy(1), {-2, -1}) * inv(b.x(), {.adjoint = true})};
       },
       .batch = batch::carry,
       .samples = {{{f32({3, 3}).positive_definite()}}, {{f32({2, 2, 2}).positive_definite()}}}},

      {.name = "logdet",
       .doc = "The logarithm of the determinant of symmetric positive definite matrices in the last two axes.",
       .tf = "tf.linalg.logdet(x)",
       .inputs = {"x"},
       .dtypes = kFloats,
       .infer = infer_determinant,
       .expand = [](const Expand& x) -> Tensors {
         return {2 * sum(log(diag_part(cholesky(x[0], x.at), x.at), x.at), {.axis = -1}, x.at)};
       },
       .traits = kMayFail,
       .samples = {{{f32({3, 3}).positive_definite()}}, {{f32({2, 2, 2}).positive_definite()}}}},

      {.name = "solve",
       .doc = "The x with a x = b (a^T x = b if adjoint) for matrices in the last two axes; the axes before them broadcast.",
       .tf = "tf.linalg.solve(matrix=a, rhs=b, adjoint)",
       .inputs = {"a", "b"},
       .attrs = {attr::flag("adjoint", false)},
       .dtypes = kFloats,
       .infer = infer_solve,
       .kernel = [](KernelCall& call) {
         const std::int64_t n = rows_of(call.shape(0)), m = cols_of(call.shape(1));
         with_float(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           Factors<T> factors;
           for_each_system<T>(call, [&](const T* a, std::int64_t number, bool fresh, T* x) {
             if (fresh) factors.compute(n, a, call.flag("adjoint"));
             if (factors.singular >= 0) refuse_singular(call, number, factors.singular);
             kernels::lu_solve(n, m, factors.lu.data(), factors.pivots.data(), x);
           });
         });
       },
       .grad = [](const Backward& b) -> Grads { return solve_grad(b, solve(b.x(0), b.dy(), {.adjoint = !b.flag("adjoint")})); },
       .batch = batch::broadcast,
       .traits = kMayFail | kBroadcasts,
       .samples = {{{f32({3, 3}).positive_definite(), f32({3, 2})}}, {{f32({2, 1, 2, 2}).positive_definite(), f32({3, 2, 1})}, {{"adjoint", true}}}}},

      {.name = "triangular_solve",
       .doc = "The x with a x = b (a^T x = b if adjoint) for lower or upper triangular matrices in the last two axes, whose other triangle is not read; the axes before broadcast.",
       .tf = "tf.linalg.triangular_solve(matrix=a, rhs=b, lower, adjoint)",
       .inputs = {"a", "b"},
       .attrs = {attr::flag("lower", true), attr::flag("adjoint", false)},
       .dtypes = kFloats,
       .infer = infer_solve,
       .kernel = [](KernelCall& call) {
         const std::int64_t n = rows_of(call.shape(0)), m = cols_of(call.shape(1));
         const bool adjoint = call.flag("adjoint");
         with_float(call.dtype(), [&](auto* tag) {
           using T = std::remove_pointer_t<decltype(tag)>;
           for_each_system<T>(call, [&](const T* a, std::int64_t number, bool, T* x) {
             const std::int64_t row = kernels::triangular_solve(n, m, a, adjoint ? 1 : n, adjoint ? n : 1, call.flag("lower") != adjoint, x);
             if (row >= 0) refuse_singular(call, number, row);
           });
         });
       },
       .grad = [](const Backward& b) -> Grads {
         const bool lower = b.flag("lower");
         Grads grads = solve_grad(b, triangular_solve(b.x(0), b.dy(), {.lower = lower, .adjoint = !b.flag("adjoint")}));
         if (b.needs(0)) grads[0] = lower ? band_part(grads[0].dense(), -1, 0) : band_part(grads[0].dense(), 0, -1);
         return grads;
       },
       .batch = batch::broadcast,
       .traits = kMayFail | kBroadcasts,
       .samples = {{{f32({3, 3}).positive_definite(), f32({3, 2})}}, {{f32({2, 1, 2, 2}).positive_definite(), f32({3, 2, 1})}, {{"lower", false}, {"adjoint", true}}}}},
  };
}

}  // namespace weft::inline v0::rows
