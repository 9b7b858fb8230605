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

}  // namespace weft::test
