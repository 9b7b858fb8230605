#include <weft/ops.h>

namespace weft::inline v0 {
Tensor Tensor::operator[](Index) const { throw InternalError("indexing comes with the slice family"); }
Tensor Tensor::index(std::span<const Index>, Location) const { throw InternalError("indexing comes with the slice family"); }
}  // namespace weft::inline v0
