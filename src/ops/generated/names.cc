// Derived from the op table by ./scripts/generate; do not edit.
#include "ops/table.h"

namespace weft::inline v0 {

const char* const kGeneratedNames[] = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "floormod",
    "negative",
    "exp",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "invert",
    "where",
    "sum",
    "sum_like",
    "reshape",
    "reshape_like",
    "expand_dims",
    "concat",
    "split_like",
    "identity",
    "stop_gradient",
    "broadcast_to",
    "broadcast_like",
    "zeros",
    "ones",
    "zeros_like",
    "ones_like",
    "cast",
    "scatter_rows",
    nullptr};
const std::size_t kGeneratedCount = 41;

}  // namespace weft::inline v0
