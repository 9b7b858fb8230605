// Room in lists, made before something is changed that must not stay half changed.
#pragma once

#include <vector>

namespace weft::inline v0 {

/// Afterwards the next push_back of an element that is moved throws nothing.
template <class T>
void make_room(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 1);
}

}  // namespace weft::inline v0
