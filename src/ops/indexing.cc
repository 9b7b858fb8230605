// Index expressions: x[i] and x(i, all, range(1, 4), ellipsis, newaxis) are calls of strided_slice.
#include "ops/indexing.h"

namespace weft::inline v0 {

Tensor Tensor::operator[](Index at) const { return index({&at, 1}, at.where); }

IndexLists index_lists(std::span<const Index> at) {
  // A mask has a bit for each entry; strided_slice refuses longer expressions when it sees the lists.
  IndexLists lists;
  StridedSliceOptions& o = lists.options;
  Ints strides;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::int64_t bit = i < 63 ? std::int64_t{1} << i : 0;
    const Range& bounds = at[i].bounds;
    lists.begin.push_back(at[i].what == Index::What::kPosition ? at[i].position : bounds.start.value_or(0));
    lists.end.push_back(bounds.stop.value_or(0));
    strides.push_back(bounds.step);
    switch (at[i].what) {
      case Index::What::kPosition: o.shrink_axis_mask |= bit; break;
      case Index::What::kEllipsis: o.ellipsis_mask |= bit; break;
      case Index::What::kNewAxis: o.new_axis_mask |= bit; break;
      case Index::What::kAll:
      case Index::What::kRange:
        if (!bounds.start) o.begin_mask |= bit;
        if (!bounds.stop) o.end_mask |= bit;
        break;
    }
  }
  o.strides = std::move(strides);
  return lists;
}

Tensor Tensor::index(std::span<const Index> at, Location where) const {
  IndexLists lists = index_lists(at);
  return strided_slice(*this, std::move(lists.begin), std::move(lists.end), std::move(lists.options), where);
}

}  // namespace weft::inline v0
