// Choices that ops offer.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <string>
#include <vector>

#include <weft/axes.h>
#include <weft/tensor.h>

namespace weft::inline v0 {


}  // namespace weft::inline v0
