// What comes and goes with calls: from the second call on a thread has the memory for it.
#pragma once

#include <string>
#include <vector>

#include <weft/small_vector.h>

namespace weft::inline v0 {

/// For containers of the standard library.
template <class T>
struct RoomAllocator {
  using value_type = T;
  RoomAllocator() = default;
  template <class U>
  RoomAllocator(const RoomAllocator<U>&) {}
  static_assert(alignof(T) <= 64);  // that of every block
  T* allocate(std::size_t count) { return static_cast<T*>(detail::take_room(count * sizeof(T))); }
  void deallocate(T* start, std::size_t count) noexcept { detail::give_room(start, count * sizeof(T)); }
  template <class U>
  friend bool operator==(RoomAllocator, RoomAllocator<U>) { return true; }
};

template <class T>
using CallList = std::vector<T, RoomAllocator<T>>;
using CallText = std::basic_string<char, std::char_traits<char>, RoomAllocator<char>>;

/// A base for classes whose objects come and go with calls.
struct InRoom {
  static void* operator new(std::size_t bytes) { return detail::take_room(bytes); }
  static void operator delete(void* start, std::size_t bytes) noexcept { detail::give_room(start, bytes); }
};

/// Afterwards the next push_back of an element that is moved throws nothing: made before something is changed that must not stay half changed.
template <class T, class Allocator>
void make_room(std::vector<T, Allocator>& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 1);
}

}  // namespace weft::inline v0
