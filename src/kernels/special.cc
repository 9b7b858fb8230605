#include "kernels/special.h"

#include <math.h>  // lgamma_r, which <cmath> does not promise

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::inline v0::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// B(2j) / (2j)! for j = 1 .. 12, of the Bernoulli numbers B.
constexpr double kBernoulliOverFactorial[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000,
    1.0 / 74724249600,
    -3617.0 / 10670622842880000,
    43867.0 / 5109094217170944000,
    -174611.0 / 802857662698291200000.0,
    77683.0 / 14101100039391805440000.0,
    -236364091.0 / 1693824136731743669452800000.0,
};

bool is_whole(double x) { return x == std::floor(x); }

// order! * base^exponent. The factorial and the power are each out of range long before their product is.
class ScaledPower {
 public:
  explicit ScaledPower(double order) : direct_(order <= 20), factorial_(direct_ ? std::tgamma(order + 1) : log_gamma(order + 1)) {}
  double operator()(double base, double exponent) const {
    return direct_ ? factorial_ * std::pow(base, exponent) : std::exp(factorial_ + exponent * std::log(base));
  }

 private:
  bool direct_;
  double factorial_;  // its logarithm unless direct
};

// From here on the terms of the series below shrink tenfold or faster. Where that is far away, the powers shrink faster still.
double far_enough(double order) { return 10 + (order + 1) / 2; }

// order! * sum over k >= 0 of (x + k)^-(order + 1), for x > 0 and order >= 1, by Euler and Maclaurin: the first terms one by
// one, up to a point w from where the remaining sum is an integral plus a fast series in 1/w.
double scaled_zeta(double order, double x) {
  if (std::isinf(x)) return 0;
  const double s = order + 1, far = far_enough(order);
  const ScaledPower scaled_power(order);
  double sum = 0, w = x;
  for (; w < far; w += 1) {
    const double term = scaled_power(w, -s);
    sum += term;
    if (term <= sum * 1e-18) return sum;
  }
  double tail = 1 / (s - 1) + 0.5 / w, rising = s / (w * w);
  for (int j = 0; j < 12; ++j) {
    const double term = kBernoulliOverFactorial[j] * rising;
    tail += term;
    if (std::abs(term) < std::abs(tail) * 1e-18) break;
    rising *= (s + 2 * j + 1) / w * ((s + 2 * j + 2) / w);
  }
  return sum + scaled_power(w, 1 - s) * tail;
}

// scaled_zeta(order, a) - scaled_zeta(order, b) for a and b from 0 to 1: term by term, because near each other the sums would cancel.
double scaled_zeta_difference(double order, double a, double b) {
  if (a == b) return 0;
  const double s = order + 1, far = far_enough(order);
  const ScaledPower scaled_power(order);
  const double low = std::min(a, b), distance = std::abs(a - b), sign = a < b ? 1 : -1;
  double sum = 0, k = 0;
  for (; k < far; k += 1) {
    const double term = -scaled_power(low + k, -s) * std::expm1(-s * std::log1p(distance / (low + k)));
    sum += term;
    if (term <= sum * 1e-18) return sign * sum;
  }
  return sign * sum + (scaled_zeta(order, a + k) - scaled_zeta(order, b + k));
}

}  // namespace

double log_gamma(double x) {
  int sign;  // std::lgamma would write it to a global
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (std::isinf(x)) return x > 0 ? x : kNaN;
  double result = 0;
  if (x < 0) {
    if (is_whole(x)) return kNaN;
    const double turn = x - std::round(x);  // exact; the cotangent's period is 1
    result = -kPi / std::tan(kPi * turn);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double t = 1 / (x * x);
  const double series = t * (1.0 / 12 - t * (1.0 / 120 - t * (1.0 / 252 - t * (1.0 / 240 - t * (1.0 / 132 - t * (691.0 / 32760 - t / 12))))));
  return result + (std::log(x) - 0.5 / x - series);
}

double polygamma(std::int64_t order, double x) {
  if (order == 0) return digamma(x);
  if (std::isnan(x) || x == -kInf) return kNaN;
  const bool odd = order % 2 != 0;
  const auto n = static_cast<double>(order);
  const double sign = odd ? 1 : -1;
  if (x > 0) return sign * scaled_zeta(n, x);
  if (is_whole(x)) return odd ? kInf : x == 0 ? std::copysign(kInf, -x) : kNaN;
  // The sum of (x + k)^-(n + 1) splits where x + k changes its sign. Below, the bases are -(ceil(x) - x), one less each, down to x.
  const double above = x - std::floor(x), below = std::ceil(x) - x, beyond = scaled_zeta(n, 1 - x);
  if (odd) return scaled_zeta(n, above) + (scaled_zeta(n, below) - beyond);
  const double difference = scaled_zeta_difference(n, above, below);
  return std::isinf(difference) ? -difference : -(difference + beyond);
}

double inverse_erf(double x) {
  const double size = std::abs(x);
  if (!(size < 1)) return size == 1 ? std::copysign(kInf, x) : kNaN;
  // A guess that is right to 0.2 %, then steps of Halley's method, each of which triples the number of right digits. In the tail erfc
  // keeps the digits that erf has lost; there 1 - size is exact.
  const bool tail = size > 0.5;
  const double log_term = tail ? std::log((1 - size) * (1 + size)) : std::log1p(-size * size);
  constexpr double a = 0.147;
  const double t = 2 / (kPi * a) + log_term / 2;
  double y = std::sqrt(std::sqrt(t * t - log_term / a) - t);
  const double scale = std::sqrt(kPi) / 2;
  for (int step = 0; step < 3; ++step) {
    const double error = tail ? (1 - size) - std::erfc(y) : std::erf(y) - size;
    const double move = error * scale * std::exp(y * y);
    y -= move / (1 + y * move);
  }
  return std::copysign(y, x);
}

}  // namespace weft::inline v0::kernels
