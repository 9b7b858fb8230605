// A vector whose first N elements live inside the object.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <weft/error.h>

namespace weft::inline v0 {
namespace detail {

/// Memory for lists that come and go with calls. What was given back stays with the thread, so that the next call finds it. Throws std::bad_alloc.
WEFT_API void* take_room(std::size_t bytes);
/// REQUIRES: of take_room, with as many bytes.
WEFT_API void give_room(void* start, std::size_t bytes) noexcept;

}  // namespace detail

/// Grows like std::vector, but allocates only beyond N elements. Iterators are pointers and are invalidated by any
/// growth and by a move. Not thread-safe.
template <class T, std::size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(std::size_t count) {
    construct([&] { resize(count); });
  }
  SmallVector(std::size_t count, const T& value) {
    construct([&] { resize(count, value); });
  }
  SmallVector(std::initializer_list<T> list) : SmallVector(list.begin(), list.end()) {}
  template <class It>
    requires(!std::is_integral_v<It>)
  SmallVector(It first, It last) {
    construct([&] {
      for (; first != last; ++first) push_back(*first);
    });
  }
  SmallVector(const SmallVector& other) {
    if (std::is_trivially_copyable_v<T> && other.size_ <= N) {
      size_ = other.size_;
      if (size_ > 0) std::memcpy(static_cast<void*>(storage_), static_cast<const void*>(other.data_), size_ * sizeof(T));
    } else {
      construct([&] {
        for (const T& value : other) push_back(value);
      });
    }
  }
  SmallVector(SmallVector&& other) noexcept { take(std::move(other)); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) *this = SmallVector(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      destroy();
      take(std::move(other));
    }
    return *this;
  }
  ~SmallVector() { destroy(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }              ///< REQUIRES: i < size()
  const T& operator[](std::size_t i) const { return data_[i]; }  ///< REQUIRES: i < size()
  T& back() { return data_[size_ - 1]; }                         ///< REQUIRES: not empty
  operator std::span<const T>() const { return {data_, size_}; }
  operator std::span<T>() { return {data_, size_}; }

  template <class... A>
  T& emplace_back(A&&... args) {
    if (size_ == capacity_) {
      T value(std::forward<A>(args)...);  // before the growth: args may refer to an element
      grow(capacity_ * 2);
      std::construct_at(data_ + size_, std::move(value));
    } else {
      std::construct_at(data_ + size_, std::forward<A>(args)...);
    }
    return data_[size_++];  // counted once it is there: a constructor may throw
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(std::max(static_cast<std::uint32_t>(count), capacity_ * 2));
  }
  void resize(std::size_t count) {
    reserve(count);
    while (size_ > count) std::destroy_at(data_ + --size_);
    while (size_ < count) emplace_back();
  }
  void resize(std::size_t count, const T& value) {
    if (size_ >= count) return resize(count);
    const T copy(value);  // `value` may be an element
    reserve(count);
    while (size_ < count) emplace_back(copy);
  }
  void clear() { resize(0); }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  T* local() { return std::launder(reinterpret_cast<T*>(storage_)); }
  bool is_local() const { return static_cast<const void*>(data_) == static_cast<const void*>(storage_); }

  // The destructor does not run for an object whose constructor throws.
  template <class Fill>
  void construct(const Fill& fill) {
    try {
      fill();
    } catch (...) {
      destroy();
      throw;
    }
  }
  // Out of line, so that push_back stays small.
  [[gnu::noinline]] void grow(std::uint32_t bigger) {
    static_assert(alignof(T) <= 64);  // that of every block
    T* fresh = static_cast<T*>(detail::take_room(bigger * sizeof(T)));
    std::uninitialized_move_n(data_, size_, fresh);
    std::destroy_n(data_, size_);
    if (!is_local()) detail::give_room(data_, capacity_ * sizeof(T));
    data_ = fresh;
    capacity_ = bigger;
  }
  void destroy() {
    std::destroy_n(data_, size_);
    if (!is_local()) detail::give_room(data_, capacity_ * sizeof(T));
  }
  // REQUIRES: this object holds no elements that need destruction.
  void take(SmallVector&& other) noexcept {
    if (other.is_local()) {
      if (other.size_ > N) __builtin_unreachable();  // g++ 12 warns of the copy that this rules out
      data_ = local();
      capacity_ = N;
      std::uninitialized_move_n(other.data_, other.size_, data_);
      std::destroy_n(other.data_, other.size_);
    } else {
      data_ = std::exchange(other.data_, other.local());
      capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
    }
    size_ = std::exchange(other.size_, 0u);
  }

  alignas(T) unsigned char storage_[N * sizeof(T)];
  T* data_ = reinterpret_cast<T*>(storage_);
  std::uint32_t size_ = 0, capacity_ = N;  // 32 bits: these vectors are short, and many objects hold one
};

}  // namespace weft::inline v0
