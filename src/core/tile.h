// Pointwise bodies: a function over a run of contiguous lanes, one instantiation per element type.
#pragma once

#include <array>
#include <tuple>

#include "kernels/tile.h"
#include <weft/dtype.h>

namespace weft::inline v0 {

/// The body of a pointwise row. f16 and bf16 use the f32 lanes, rounded after the op.
struct Tile {
  int arity = 0;  // tensor inputs first, then real attributes as broadcast scalars
  std::array<kernels::TileFn, kNumDTypes> fn{};
  std::array<DType, kNumDTypes> out{};  // what the lanes return

  explicit operator bool() const { return arity > 0; }
  kernels::TileFn for_dtype(DType t) const { return fn[static_cast<std::size_t>(is_half(t) ? f32 : t)]; }
  DType result(DType t) const {
    const DType own = out[static_cast<std::size_t>(is_half(t) ? f32 : t)];
    return is_half(t) && own == f32 ? t : own;
  }
};

template <class... T>
struct Types {};
using Floats = Types<float, double>;
using Integers = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using Signed = Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
using Numbers = Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using Booleans = Types<bool>;
using Everything = Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;

namespace detail {

template <class F, class T, std::size_t... I>
void lane_loop(const void* const* in, void* out, std::size_t n, std::index_sequence<I...>) {
  using R = decltype(F{}((static_cast<void>(I), T{})...));
  const auto inputs = std::make_tuple((static_cast<void>(I), static_cast<const T*>(in[I]))...);
  R* y = static_cast<R*>(out);
  for (std::size_t k = 0; k < n; ++k) y[k] = F{}(std::get<I>(inputs)[k]...);
}

template <int N, class F, class T>
void lane_fn(const void* const* in, void* out, std::size_t n) {
  lane_loop<F, T>(in, out, n, std::make_index_sequence<N>{});
}

template <int N, class F, class T>
void add_lanes(Tile& tile) {
  using R = decltype(std::apply(F{}, std::array<T, N>{}));
  static_assert(std::is_arithmetic_v<R>, "lanes return numbers; did a lane function convert to Tensor?");
  const auto at = static_cast<std::size_t>(dtype_of<T>());
  tile.fn[at] = &lane_fn<N, F, T>;
  tile.out[at] = dtype_of<R>();
}

}  // namespace detail

/// `lanes<2, Floats>([](auto a, auto b) { return a + b; })`: F is captureless and is called with N values of one type.
template <int N, class List, class F>
Tile lanes(F) {
  Tile tile{.arity = N};
  [&]<class... T>(Types<T...>) { (detail::add_lanes<N, F, T>(tile), ...); }(List{});
  return tile;
}

}  // namespace weft::inline v0
