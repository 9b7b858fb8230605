// Index expressions as attributes of strided_slice and its relatives.
#pragma once

#include <weft/ops/slice.h>

namespace weft::inline v0 {

/// What x(i, all, range(1, 4), ellipsis, newaxis) is in terms of strided_slice.
struct IndexLists {
  Ints begin, end;
  StridedSliceOptions options;
};
IndexLists index_lists(std::span<const Index> at);

}  // namespace weft::inline v0
