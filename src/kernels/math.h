// Elementary functions of one lane, written so that a loop over them becomes vector code on every instruction set.
//
// All for float, and most for double, are branch-free and use nothing but IEEE + - * / sqrt, comparisons, selections and integer
// arithmetic on the bits: no tables, no library calls. So a lane has the same bits in scalar code, in a vector of any width, and in a
// loop's tail. NaN gives NaN, infinities and signed zeros give what they give in C, denormals are kept. math_test.cc pins the largest error
// of each.
//
// The functions that decide the speed of whole models are templates, for float, double and Fused (math_bits.h), a float with fused
// multiply-add: the same steps, some of them rounded once instead of twice. Fused lanes are faster, and their last bits differ.
//
// How the digits are kept without fma: constants that are multiplied by a whole number have enough trailing zeros that the product is
// exact, and the rounding error of the one sum that matters is kept in a second number: after s = a + b with |a| >= |b| or a = 0, or
// with an exact s, it is b - (s - a).
//
// Lanes outside the range of a formula compute some number, and a selection at the end replaces it. (Clamping the argument first
// would cost more: compilers follow the clamped constant through the function and turn it into selections anyway.)
//
// g++ makes vector code of them with -O3 -fno-trapping-math -fno-math-errno; without the second it puts branches around what a
// selection may drop, and without the third it calls sqrt.
#pragma once

#include <cmath>

#include "kernels/math_erf.h"
#include "kernels/math_exp.h"
#include "kernels/math_gate.h"
#include "kernels/math_log.h"
#include "kernels/math_trig.h"

namespace weft::inline v0::kernels::lane {

// In double these are the library's, one lane after the other.
WEFT_LANE double sin(double x) { return std::sin(x); }
WEFT_LANE double cos(double x) { return std::cos(x); }
WEFT_LANE double tan(double x) { return std::tan(x); }
WEFT_LANE double asin(double x) { return std::asin(x); }
WEFT_LANE double acos(double x) { return std::acos(x); }
WEFT_LANE double atan(double x) { return std::atan(x); }
WEFT_LANE double asinh(double x) { return std::asinh(x); }
WEFT_LANE double acosh(double x) { return std::acosh(x); }
WEFT_LANE double atanh(double x) { return std::atanh(x); }
WEFT_LANE double erf(double x) { return std::erf(x); }
WEFT_LANE double erfc(double x) { return std::erfc(x); }
WEFT_LANE double atan2(double y, double x) { return std::atan2(y, x); }
WEFT_LANE double pow(double x, double y) { return std::pow(x, y); }

}  // namespace weft::inline v0::kernels::lane
