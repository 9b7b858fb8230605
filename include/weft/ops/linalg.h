// Linear algebra.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {


}  // namespace weft::inline v0
