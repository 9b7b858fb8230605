// What all handles of this layer refuse: those of Variables, Functions, ConcreteFunctions.
#include <weft/concrete.h>

namespace weft::inline v0::detail {

void fail_moved_from(const char* what, Location at) {
  throw StateError(what, "this handle is empty: another one was made or assigned from it by a move; use that one.", at);
}

}  // namespace weft::inline v0::detail
