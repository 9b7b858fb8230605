// A row of a test's own, to see when gradients are derived.
#pragma once

#include "core/apply.h"
#include "core/infer.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::test {

/// How often the gradient of counted_square was asked for.
inline int counted_gradients = 0;

/// x * x
inline Tensor counted_square(Tensor x) {
  static const Op row{.name = "counted_square",
                      .doc = "x times x.",
                      .inputs = {"x"},
                      .dtypes = kFloats,
                      .infer = infer::pointwise,
                      .tile = lanes<1, Floats>([](auto a) { return a * a; }),
                      .grad = [](const Backward& b) -> Grads { return ++counted_gradients, Grads{b.dy() * b.x(0) * 2}; }};
  Tensor inputs[] = {std::move(x)};
  return apply_one(row, inputs, {}, Location::here());
}

}  // namespace weft::test
