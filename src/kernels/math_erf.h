// The error function, see math.h.
#pragma once

#include "kernels/math_exp.h"

namespace weft::inline v0::kernels::lane {

template <class T>
  requires(sizeof(T) == 4)
WEFT_LANE T erf(T x) {
  const T size = size_of(x), z = x * x;
  const T near = multiply_add(
      size, horner(z, 0.128379166f, -0.376126081f, 0.112833314f, -0.0268422887f, 0.00516567752f, -0.000780900125f, 7.19092131e-05f), size);
  // The fourth root of erfc is close to a polynomial, and cheaper than its logarithm.
  const T v = size - 1.5f;
  const T slope = horner(v, -0.376384676f, 0.0693328604f, 0.032950893f, -0.0125284409f, -0.00157160568f, 0.00133339351f, -0.000174796383f);
  const T root = multiply_add(v, slope, 0.429075211f);
  const T square = root * root, far = choose(size > 4.0f, T(1), multiply_add(-square, square, T(1)));
  return with_sign_of(choose(size >= 1.1f, far, near), x);
}

/// exp(-x^2) g(x) for x > 0. x^2 is the sum of an exact square and a small rest. g is u = 3 / (3 + x) times a polynomial in u, in double
/// because the first digits of u become the last ones of g.
WEFT_LANE float erfc(float x) {
  using F = Format<float>;
  const float size = size_of(x), high = of_bits<float>(bits_of(size) & 0xfffff000u), rest = (size - high) * (size + high);
  const float square = high * high, shifted = F::round - size * size * F::inv_ln2, n = shifted - F::round;
  const float r0 = -square - n * F::ln2_hi, low = n * F::ln2_lo + rest, r = r0 - low, r_error = (r0 - r) - low;
  const float part = r + (r_error + r * r * exp_tail(r));
  const double u = 3.0 / (3.0 + static_cast<double>(size));
  const double g = u * poly(u, 0.18803644738647027, 0.18867230690981096, 0.17154127824500917, 0.19160238591462259, -0.00036921800756299026,
                            0.40065337366981807, -0.43778108979739572, 0.53320756156301785, -0.29108650153277849, 0.055523453540999454);
  float y = scaled(static_cast<float>(g + g * static_cast<double>(part)), bits_of(shifted) - bits_of(F::round));
  y = size > 10.1f ? 0.0f : y;
  return x < 0.0f ? 2.0f - y : y;
}

}  // namespace weft::inline v0::kernels::lane
