// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/slice.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

}  // namespace weft::inline v0
