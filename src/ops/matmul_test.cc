#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;

// Numbers that look random and are the same everywhere.
template <class T>
std::vector<T> noise(std::size_t count, std::uint64_t seed) {
  std::vector<T> values(count);
  for (T& v : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    if constexpr (std::floating_point<T>) v = static_cast<T>(static_cast<double>(seed >> 40) / (1 << 23) - 1);
    else v = static_cast<T>(seed >> 33);
  }
  return values;
}

Tensor noise(Shape shape, std::uint64_t seed) { return Tensor(noise<double>(static_cast<std::size_t>(shape.num_elements()), seed), shape); }

void expect_says(const std::string& text, const char* part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance = 1e-12, Location at = Location::here()) {
  SCOPED_TRACE("line " + std::to_string(at.line));
  ASSERT_EQ(actual.spec(), expected.spec());
  const auto a = actual.to_vector<double>(), b = expected.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(b[i]))) << "at " << i;
}

TEST(Matmul, BroadcastsBatchesAndTransposes) {
  const Tensor a = noise({2, 1, 3, 4}, 1), b = noise({5, 4, 2}, 2);
  const Tensor y = matmul(a, b);
  ASSERT_EQ(y.shape(), (Shape{2, 5, 3, 2}));
  const auto x = a.to_vector<double>(), w = b.to_vector<double>(), got = y.to_vector<double>();
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t q = 0; q < 5; ++q)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 2; ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < 4; ++k) sum += x[(p * 3 + i) * 4 + k] * w[(q * 4 + k) * 2 + j];
          EXPECT_NEAR(got[((p * 5 + q) * 3 + i) * 2 + j], sum, 1e-14);
        }
  const Tensor turned_a = einsum("...ij->...ji", {a}), turned_b = einsum("...ij->...ji", {b});
  expect_close(matmul(turned_a, b, {.transpose_a = true}), y);
  expect_close(matmul(a, turned_b, {.transpose_b = true}), y);
  expect_close(matmul(turned_a, turned_b, {.transpose_a = true, .transpose_b = true}), y);
  expect_close(matmul(noise({0, 3, 2}, 1), noise({2, 4}, 1)), zeros({0, 3, 4}, {.dtype = f64}));
  expect_close(matmul(noise({2, 3, 0}, 1), noise({0, 4}, 1)), zeros({2, 3, 4}, {.dtype = f64}));
}

TEST(Matmul, IntegersWrapAtEveryWidth) {
  EXPECT_EQ(matmul(Tensor({{100, 100}}, i8), Tensor({{2}, {2}}, i8)).item<std::int8_t>(), static_cast<std::int8_t>(400));
  EXPECT_EQ(matmul(Tensor({{65535, 65535}}, u16), Tensor({{65535}, {65535}}, u16)).item<std::uint16_t>(), 2);
  EXPECT_EQ(matmul(Tensor({{1 << 30}}, i32), Tensor({{4}}, i32)).item<std::int32_t>(), 0);
}

TEST(Matmul, HalvesRoundOnce) {
  const Tensor a = cast(noise({3, 64}, 5), f32), b = cast(noise({64, 2}, 6), f32);
  for (DType half : {f16, bf16}) {
    const Tensor x = cast(a, half), y = cast(b, half);
    EXPECT_EQ(cast(matmul(x, y), f32).to_vector<float>(), cast(cast(matmul(cast(x, f32), cast(y, f32)), half), f32).to_vector<float>());
  }
}

TEST(Matmul, ErrorsNameBothSides) {
  expect_says(message<ShapeError>([] { matmul(zeros({2, 3}), zeros({4, 5})); }),
              "matmul: cannot multiply a f32[2,3] by b f32[4,5]: the inner sizes are 3 and 4; they must match.");
  expect_says(message<ShapeError>([] { matmul(zeros({3}), zeros({3, 5})); }), "a f32[3] has rank 1; rank 2 or more is needed.");
  expect_says(message<ShapeError>([] { matmul(zeros({2, 1, 1}), zeros({3, 1, 1})); }), "cannot broadcast the batch axes of a f32[2,1,1] with those of b f32[3,1,1]");
  expect_says(message<DtypeError>([] { matmul(zeros({1, 1}), zeros({1, 1}, {.dtype = f64})); }), "tensors of two dtypes never mix");
  expect_says(message<ShapeError>([] { matvec(zeros({2, 3}), zeros({2})); }), "matvec: cannot multiply a f32[2,3] by b f32[2]: the inner sizes are 3 and 2");
}

TEST(Einsum, AgreesWithOtherOps) {
  const Tensor a = noise({3, 4}, 1), b = noise({4, 5}, 2), c = noise({5, 2}, 3), square = noise({3, 3}, 4), cube = noise({3, 3, 3}, 5);
  expect_close(einsum("ij,jk->ik", {a, b}), matmul(a, b));
  expect_close(einsum(" i j , j k ", {a, b}), matmul(a, b));
  expect_close(einsum("ij,jk->ki", {a, b}), einsum("ij->ji", {matmul(a, b)}));
  expect_close(einsum("ij,jk,kl->il", {a, b, c}), matmul(matmul(a, b), c));
  expect_close(einsum("kl,ij,jk->li", {c, a, b}), einsum("ij->ji", {matmul(matmul(a, b), c)}));
  expect_close(einsum("ij->", {a}), sum(a));
  expect_close(einsum("ij->j", {a}), sum(a, {.axis = 0}));
  expect_close(einsum("ii->i", {square}), diag_part(square));
  expect_close(einsum("ii", {square}), trace(square));
  expect_close(einsum("iii->i", {cube}), diag_part(diag_part(cube)), 1e-12);
  expect_close(einsum("ii,ij->j", {square, a}), sum(expand_dims(diag_part(square), {1}) * a, {.axis = 0}));
  expect_close(einsum("ij,kl->", {a, b}), sum(a) * sum(b));
  expect_close(einsum("ij,ij->ij", {a, a}), a * a);
  expect_close(einsum("ba", {a}), einsum("ba->ab", {a}));
  expect_close(einsum("...,...", {a, Tensor(2.0, f64)}), a + a);
  expect_close(einsum("...i,...i->...", {noise({2, 1, 3}, 6), noise({4, 3}, 7)}), sum(noise({2, 1, 3}, 6) * noise({4, 3}, 7), {.axis = -1}));
  expect_close(einsum("i...->...", {cube}), sum(cube, {.axis = 0}));
  expect_close(einsum("ij,jk->ik", {zeros({2, 0}, {.dtype = f64}), zeros({0, 3}, {.dtype = f64})}), zeros({2, 3}, {.dtype = f64}));
  expect_close(einsum("ab,bc,cd->ad", {zeros({2, 0}, {.dtype = f64}), zeros({0, 0}, {.dtype = f64}), zeros({0, 3}, {.dtype = f64})}), zeros({2, 3}, {.dtype = f64}));
  expect_close(einsum(",->", {Tensor(2.0, f64), Tensor(3.0, f64)}), Tensor(6.0, f64));
  expect_close(tensordot(noise({2, 3, 4}, 1), noise({3, 4, 5}, 2), 2), einsum("aij,ijb->ab", {noise({2, 3, 4}, 1), noise({3, 4, 5}, 2)}));
  expect_close(tensordot(noise({2, 3, 4}, 1), noise({4, 2}, 2), {0, -1, 1, 0}), einsum("iaj,ji->a", {noise({2, 3, 4}, 1), noise({4, 2}, 2)}));
  expect_close(matvec(a, noise({4}, 9)), einsum("ij,j->i", {a, noise({4}, 9)}));
}

// A comma separates operands and is no label, even where gradients may use any sign.
TEST(Einsum, OneResultOnly) {
  const Tensor like = zeros({3, 2, 3}), x = zeros({3});
  expect_says(message<ValueError>([&] { einsum_like("i->i,i", like, {x}); }), "einsum_like: equation \"i->i,i\" has \"i,i\"; labels are letters");
}

TEST(Einsum, ErrorsNameTheLabel) {
  const Tensor a = zeros({2, 3}), b = zeros({4, 5});
  expect_says(message<ShapeError>([&] { einsum("ij,jk->ik", {a, b}); }), "axis 0 of xs[1] f32[4,5] is 4, but label j is 3 before; sizes must match.");
  expect_says(message<ValueError>([&] { einsum("ij->i", {a, b}); }), "equation \"ij->i\" has 1 operands, but xs has 2 tensors");
  expect_says(message<ShapeError>([&] { einsum("ijk->i", {a}); }), "xs[0] f32[2,3] has rank 2, but its labels \"ijk\" name 3 axes");
  expect_says(message<ShapeError>([&] { einsum("...ijk->i...", {a}); }), "name at most as many");
  expect_says(message<ValueError>([&] { einsum("ij->ijk", {a}); }), "has \"k\" in the result, but in no operand");
  expect_says(message<ValueError>([&] { einsum("ij->ii", {a}); }), "has \"i\" twice in the result");
  expect_says(message<ValueError>([&] { einsum("i1->i", {a}); }), "labels are letters");
  expect_says(message<ValueError>([&] { einsum("ij->i->j", {a}); }), "labels are letters");
  expect_says(message<ValueError>([&] { einsum("i..->i", {a}); }), "labels are letters");
  expect_says(message<ValueError>([&] { einsum("...i->i", {a}); }), "but not in the result");
  expect_says(message<IndexError>([&] { tensordot(a, b, 3); }), "axes is 3; it must be from 0 to 2");
  expect_says(message<IndexError>([&] { tensordot(a, b, {0, 2}); }), "axes has 2 for b f32[4,5]");
  expect_says(message<ValueError>([&] { tensordot(a, b, {0, 0, 1, 1}); }), "axes names an axis twice");
  expect_says(message<ValueError>([&] { tensordot(a, b, {0, 0, 1}); }), "axes has 3 entries");
  expect_says(message<ShapeError>([&] { tensordot(a, b, {0, 0}); }), "axis 0 of a f32[2,3] and axis 0 of b f32[4,5] are summed over together");
}

Tensor positive_definite(Shape shape, std::uint64_t seed) {
  const Tensor m = noise(shape, seed);
  return matmul(m, m, {.transpose_b = true}) + diag(ones({shape[shape.rank() - 1]}, {.dtype = f64}));
}

TEST(Linalg, FactorsAndInversesMultiplyBack) {
  for (std::int64_t n : {1, 2, 3, 7, 20}) {
    const Tensor x = positive_definite({3, 2, n, n}, 11), one = broadcast_like(diag(ones({n}, {.dtype = f64})), x), b = noise({2, n, 4}, 12);
    const Tensor l = cholesky(x);
    expect_close(matmul(l, l, {.transpose_b = true}), x, 1e-11);
    expect_close(band_part(l, -1, 0), l);
    expect_close(matmul(x, inv(x)), one, 1e-10);
    expect_close(matmul(x, inv(x, {.adjoint = true}), {.transpose_b = true}), one, 1e-10);
    expect_close(matmul(x, solve(x, b)), broadcast_like(b, solve(x, b)), 1e-10);
    const Tensor general = noise({n, n}, 13);  // needs exchanges of rows
    expect_close(matmul(general, solve(general, noise({n, 2}, 14))), noise({n, 2}, 14), 1e-8);
    expect_close(matmul(general, solve(general, noise({n, 2}, 14), {.adjoint = true}), {.transpose_a = true}), noise({n, 2}, 14), 1e-8);
    for (bool lower : {true, false})
      for (bool adjoint : {true, false}) {
        const Tensor a = lower ? band_part(x, -1, 0) : band_part(x, 0, -1), y = triangular_solve(x, b, {.lower = lower, .adjoint = adjoint});
        expect_close(matmul(a, y, {.transpose_a = adjoint}), broadcast_like(b, y), 1e-10);
      }
    const auto [sign_of, log_abs] = slogdet(x);
    expect_close(sign_of * exp(log_abs), det(x), 1e-10);
  }
  EXPECT_NEAR(det(Tensor({{0., 2.}, {3., 4.}}, f64)).item<double>(), -6, 1e-14);
  EXPECT_EQ(slogdet(Tensor({{0., 2.}, {3., 4.}}, f64)).sign.item<double>(), -1);
  EXPECT_EQ(det(Tensor({{1., 2.}, {2., 4.}}, f64)).item<double>(), 0);
  EXPECT_EQ(det(zeros({0, 0})).item<float>(), 1);
}

TEST(Linalg, ErrorsNameTheMatrix) {
  const Tensor good = diag(ones({2, 2}));
  const Tensor bad = concat({good, zeros({1, 2, 2})}, 0);
  expect_says(message<ValueError>([&] { inv(bad); }), "inv: x[2] is singular: pivot 0 is 0; it must be invertible.");
  expect_says(message<ValueError>([&] { solve(zeros({2, 2}), zeros({2, 1})); }), "solve: a is singular");
  expect_says(message<ValueError>([&] { solve(expand_dims(bad, {0}), zeros({2, 1})); }), "solve: a[0,2] is singular");
  expect_says(message<ValueError>([&] { triangular_solve(Tensor({{1.f, 0.f}, {1.f, 0.f}}), zeros({2, 1})); }), "a is singular: pivot 1 is 0");
  expect_says(message<ValueError>([&] { cholesky(Tensor({{1.f, 2.f}, {2.f, 1.f}})); }), "cholesky: x is not positive definite: pivot 1 is not positive");
  expect_says(message<ValueError>([&] { cholesky(Tensor({{NAN}})); }), "not positive definite");
  expect_says(message<ShapeError>([&] { det(zeros({2, 3})); }), "x f32[2,3] is not square");
  expect_says(message<ShapeError>([&] { solve(good, zeros({3, 1})); }), "b f32[3,1] must have 2 rows, as many as a f32[2,2,2]");
  expect_says(message<ValueError>([&] { band_part(good, -2, 0); }), "lower is -2; it must be -1 or more");
}

// d/dt f(x + t v) at 0 by central differences, against the tape's gradient times v.
void check_gradient(const std::function<Tensor(Tensor)>& f, const Tensor& x) {
  const Tensor direction = noise(x.shape(), 99);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x), weights = noise(y.shape(), 98);
  const Tensor dx = tape.gradient(sum(y * weights), x);
  const double step = 1e-5;
  const Tensor ahead = f(x + Tensor(step, f64) * direction), behind = f(x - Tensor(step, f64) * direction);
  const double numeric = sum((ahead - behind) * weights).item<double>() / (2 * step), exact = sum(dx * direction).item<double>();
  EXPECT_NEAR(exact, numeric, 1e-6 * std::max(1.0, std::abs(numeric)));
}

// The same for the gradient itself: second order.
void check_gradients(const std::function<Tensor(Tensor)>& f, const Tensor& x) {
  check_gradient(f, x);
  check_gradient(
      [&](Tensor at) {
        GradientTape tape;
        tape.watch(at);
        const Tensor y = f(at);
        return tape.gradient(sum(y * y * noise(y.shape(), 97)), at);
      },
      x);
}

TEST(Linalg, GradientsOfBothOrdersAgreeWithDifferences) {
  const Tensor x = positive_definite({2, 3, 3}, 21), z = positive_definite({2, 3, 3}, 26), b = noise({3, 2}, 22), a = noise({3, 4}, 23);
  const std::vector<std::function<Tensor(Tensor)>> functions = {
      [](Tensor t) { return cholesky(t); },
      [](Tensor t) { return inv(t); },
      [](Tensor t) { return inv(t, {.adjoint = true}); },
      [](Tensor t) { return det(t); },
      [](Tensor t) { return slogdet(t).log_abs_det; },
      [&](Tensor t) { return solve(t, b); },
      [&](Tensor t) { return solve(z, t, {.adjoint = true}); },
      [&](Tensor t) { return solve(t, matmul(t, b), {.adjoint = true}); },
      [&](Tensor t) { return triangular_solve(t, b); },
      [&](Tensor t) { return triangular_solve(t, b, {.lower = false, .adjoint = true}); },
      [&](Tensor t) { return triangular_solve(z, t, {.lower = false}); },
      [](Tensor t) { return trace(t) * sum(diag(diag_part(t)), {.axis = {1, 2}}); },
      [](Tensor t) { return band_part(t, 0, 1); },
      [&](Tensor t) { return matmul(t, a); },
      [&](Tensor t) { return matmul(a, t, {.transpose_a = true, .transpose_b = true}); },
      [](Tensor t) { return matmul(t, t, {.transpose_a = true}); },
      [](Tensor t) { return einsum("bij,cjj,bki->ck", {t, t, t}); },
      [](Tensor t) { return einsum("bii->b", {t}); },
      [](Tensor t) { return einsum("bij->", {t}); },
      [&](Tensor t) { return einsum("...ij,...j->...", {t, noise({5, 1, 3}, 24)}); },
      [&](Tensor t) { return tensordot(t, b, {1, 0}); },
      [&](Tensor t) { return matvec(t, noise({4, 1, 3}, 25)); },
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    SCOPED_TRACE("function " + std::to_string(i));
    check_gradients(functions[i], x);
  }
  check_gradients([&](Tensor t) { return matmul(x, t); }, noise({3, 2}, 31));
  check_gradients([&](Tensor t) { return matmul(t, x, {.transpose_a = true}); }, noise({3, 2}, 32));
  check_gradients([&](Tensor t) { return einsum("...i,...i->...i", {t, noise({2, 3, 4}, 33)}); }, noise({3, 1}, 34) * ones({1, 4}, {.dtype = f64}));
  check_gradients([&](Tensor t) { return solve(x, t); }, noise({3, 1}, 35));
}

}  // namespace
}  // namespace weft
