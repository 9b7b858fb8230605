// What the tests of Function share.
#pragma once

#include <optional>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft::test {

struct Hyper {
  Variable lr_param{0.01f};
};
struct Params {
  Hyper hparams;
};

struct Pair {
  Tensor a, b;
  std::vector<Tensor> more = {};
  std::optional<Tensor> maybe = {};
};

/// The smallest net, and a step that makes its weight smaller.
struct Weight {
  Variable w{1.f};
};
inline void train(Adam& by, Weight& net) {
  GradientTape tape;
  const Tensor loss = square(net.w);
  by.apply(tape.gradient(loss, net), net);
}

}  // namespace weft::test
