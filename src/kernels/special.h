// Special functions that the C++ library lacks, or has in a form that is not thread-safe.
//
// All of them are computed in double, to a few units in the last place except near their zeros, and are defined for every
// argument: poles give an infinity where both sides agree on it (or the sign of a zero names the side), else NaN.
#pragma once

#include <cstdint>

namespace weft::inline v0::kernels {

/// log |Gamma(x)|; +inf at the poles 0, -1, -2, ...
double log_gamma(double x);
/// The derivative of log_gamma.
double digamma(double x);
/// The order-th derivative of digamma. REQUIRES: order >= 0.
double polygamma(std::int64_t order, double x);
/// The y with erf(y) = x; +-inf at +-1, NaN beyond.
double inverse_erf(double x);

}  // namespace weft::inline v0::kernels
