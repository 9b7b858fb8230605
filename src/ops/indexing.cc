// Index expressions: x[i] and x(i, all, range(1, 4), ellipsis, newaxis) are calls of strided_slice.
#include <weft/ops.h>

namespace weft::inline v0 {

Tensor Tensor::operator[](Index at) const { return index({&at, 1}, at.where); }

Tensor Tensor::index(std::span<const Index> at, Location where) const {
  // A mask has a bit for each entry; strided_slice refuses longer expressions when it sees the lists.
  Ints begin, end, strides;
  std::int64_t open_begin = 0, open_end = 0, ellipses = 0, new_axes = 0, dropped = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::int64_t bit = i < 63 ? std::int64_t{1} << i : 0;
    const Range& bounds = at[i].bounds;
    begin.push_back(at[i].what == Index::What::kPosition ? at[i].position : bounds.start.value_or(0));
    end.push_back(bounds.stop.value_or(0));
    strides.push_back(bounds.step);
    switch (at[i].what) {
      case Index::What::kPosition: dropped |= bit; break;
      case Index::What::kEllipsis: ellipses |= bit; break;
      case Index::What::kNewAxis: new_axes |= bit; break;
      case Index::What::kAll:
      case Index::What::kRange:
        if (!bounds.start) open_begin |= bit;
        if (!bounds.stop) open_end |= bit;
        break;
    }
  }
  return strided_slice(*this, std::move(begin), std::move(end),
                       {.strides = std::move(strides), .begin_mask = open_begin, .end_mask = open_end, .ellipsis_mask = ellipses,
                        .new_axis_mask = new_axes, .shrink_axis_mask = dropped}, where);
}

}  // namespace weft::inline v0
