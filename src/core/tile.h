// Pointwise bodies: a function over a run of contiguous lanes, one instantiation per element type.
#pragma once

#include <array>
#include <span>
#include <tuple>

#include "kernels/isa.h"
#include "kernels/math_bits.h"
#include "kernels/stream.h"
#include "kernels/tile.h"
#include <weft/dtype.h>

namespace weft::inline v0 {

inline kernels::Half half_of(DType t) { return t == f16 ? kernels::Half::kF16 : t == bf16 ? kernels::Half::kBF16 : kernels::Half::kNo; }

/// The body of a pointwise row. f16 and bf16 use the f32 lanes, rounded after the op.
struct Tile {
  int arity = 0;  // tensor inputs first, then real attributes as broadcast scalars
  std::array<kernels::TileFn, kNumDTypes> fn{};                      // for the instruction set in use
  std::array<kernels::PerIsa<kernels::TileFn>, kNumDTypes> every{};  // all clones: tests compare them
  std::array<kernels::TileFn, kNumDTypes> one{};                     // of a single lane, whatever n is: shorter, with the same bits
  std::array<DType, kNumDTypes> out{};                               // what the lanes return
  kernels::Link link = kernels::Link::kNone;  // on f32, of functions so simple that they can be part of a chain
  kernels::TileFn past = nullptr;  // f32 lanes with stores past the caches, of functions that have such a form
  bool fused = false;  // f32 lanes use fused multiply-add where there is one, so their last bits depend on the instruction set

  explicit operator bool() const { return arity > 0; }
  kernels::TileFn for_dtype(DType t) const { return fn[static_cast<std::size_t>(is_half(t) ? f32 : t)]; }
  kernels::TileFn one_for(DType t) const { return one[static_cast<std::size_t>(t)]; }  // halves have none
  std::uint8_t work() const { return fused ? kernels::kBusyWork : 1; }  // for a lane
  kernels::TileFn past_for(DType t) const { return t == f32 ? past : nullptr; }
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

// The iterations are independent even where the result takes the place of an input. WEFT_ROLLED besides: g++ would write out a loop over
// few lanes before it looks for vectors, and then finds none where lanes branch.
#if defined(__clang__)
#define WEFT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define WEFT_ROLLED
#else
#define WEFT_INDEPENDENT _Pragma("GCC ivdep")
#define WEFT_ROLLED _Pragma("GCC unroll 1")
#endif

/// What is stored of a lane that was computed as T.
template <class T>
using Stored = kernels::lane::Number<T>;
template <class T>
[[gnu::always_inline]] inline Stored<T> stored(T x) {
  if constexpr (kernels::lane::kFuses<T>) return x.number;
  else return x;
}

/// Functions of one lane that have a second, `plain` form, which is faster and has the same bits wherever `extreme` does not set the
/// highest bit. Each run of lanes takes that form if all of them may.
template <class F, class T>
concept HasPlainForm = requires(T x) { F::plain(x), F::extreme(x); };
inline constexpr std::size_t kPlainRun = 64;

/// Does the runs from `done` on that may take that form. Returns where it stopped.
template <class F, class T>
[[gnu::always_inline]] inline std::size_t plain_runs(const Stored<T>* x, Stored<T>* y, std::size_t done, std::size_t n) {
  for (; done + kPlainRun <= n; done += kPlainRun) {
    auto extreme = F::extreme(T(x[done]));
    for (std::size_t k = done; k < done + kPlainRun; ++k) extreme |= F::extreme(T(x[k]));
    if (extreme >> (8 * sizeof(extreme) - 1) != 0) break;
    WEFT_INDEPENDENT
    for (std::size_t k = done; k < done + kPlainRun; ++k) y[k] = stored(F::plain(T(x[k])));
  }
  return done;
}

template <class F, class T, std::size_t... I>
[[gnu::always_inline]] inline void lane_loop(const void* const* in, void* out, std::size_t n, std::index_sequence<I...>) {
  using R = Stored<decltype(F{}((static_cast<void>(I), T{})...))>;
  const auto inputs = std::make_tuple((static_cast<void>(I), static_cast<const Stored<T>*>(in[I]))...);
  R* y = static_cast<R*>(out);
  const auto run = [&](std::size_t begin, std::size_t end) __attribute__((always_inline)) {
    WEFT_ROLLED WEFT_INDEPENDENT
    for (std::size_t k = begin; k < end; ++k) y[k] = stored(F{}(T(std::get<I>(inputs)[k])...));
  };
  if constexpr (sizeof...(I) == 1 && HasPlainForm<F, T>) {
    for (std::size_t done = 0; (done = plain_runs<F, T>(std::get<0>(inputs), y, done, n)) < n;) {
      const std::size_t end = n - done < kPlainRun ? n : done + kPlainRun;
      run(done, end);
      done = end;
    }
  } else {
    run(0, n);
  }
}

// One clone of the loop for each instruction set. What a lane calls is inlined and so compiled for that set. Products and sums stay two
// roundings (-ffp-contract=off), so lanes round alike in all clones and a result does not depend on the processor; but lanes of Fused
// numbers round a multiply_add once, for which all sets but the baseline have an instruction.
template <int N, class F, class T>
[[gnu::flatten]] void lanes_baseline(const void* const* in, void* out, std::size_t n) {
  lane_loop<F, T>(in, out, n, std::make_index_sequence<N>{});
}
#if defined(__x86_64__)
template <int N, class F, class T>
[[gnu::flatten, gnu::target("avx2,bmi2,fma")]] void lanes_v3(const void* const* in, void* out, std::size_t n) {
  lane_loop<F, T>(in, out, n, std::make_index_sequence<N>{});
}
#if defined(__clang__)
#define WEFT_TARGET_V4 "avx2,bmi2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#else
#define WEFT_TARGET_V4 "avx2,bmi2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512"
#endif
template <int N, class F, class T>
[[gnu::flatten, gnu::target(WEFT_TARGET_V4)]] void lanes_v4(const void* const* in, void* out, std::size_t n) {
  lane_loop<F, T>(in, out, n, std::make_index_sequence<N>{});
}
#endif

#if defined(__x86_64__)
// Lanes whose results go past the caches: a line at a time, so that memory is at work while the next is computed; what is read later is asked
// for. A plain form comes first here, since what may not take it can be made again: as many lanes together as F::kMadeAgain says.
template <int N, class F, class T>
consteval std::size_t lanes_of_a_run(std::size_t line) {
  if constexpr (N == 1 && HasPlainForm<F, T>) return F::kMadeAgain;
  else return line;
}
template <int N, class F, class T>
[[gnu::always_inline]] inline void past_loop(const void* const* in, void* out, std::size_t n) {
  constexpr std::size_t line = 16, ahead = 512;
  constexpr std::size_t run = lanes_of_a_run<N, F, T>(line);
  float* y = static_cast<float*>(out);
  const void* at[N];
  std::size_t k = 0;
  const auto move_to = [&](std::size_t lane) __attribute__((always_inline)) {
    for (int i = 0; i < N; ++i) at[i] = static_cast<const float*>(in[i]) + lane;
  };
  if (reinterpret_cast<std::uintptr_t>(out) % 64 == 0)
    for (; k + run <= n; k += run) {
      alignas(64) float made[run];
      move_to(k);
      for (int i = 0; i < N; ++i)
        for (std::size_t l = 0; l < run; l += line) __builtin_prefetch(static_cast<const float*>(at[i]) + ahead + l);
      bool plain = false;
      if constexpr (N == 1 && HasPlainForm<F, T>) {
        const float* const x = static_cast<const float*>(at[0]);
        decltype(F::extreme(T(x[0]))) extreme = 0;
        WEFT_INDEPENDENT
        for (std::size_t l = 0; l < run; ++l) {
          extreme |= F::extreme(T(x[l]));
          made[l] = stored(F::plain(T(x[l])));
        }
        plain = extreme >> (8 * sizeof(extreme) - 1) == 0;
      }
      if (!plain) lane_loop<F, T>(at, made, run, std::make_index_sequence<N>{});
      for (std::size_t l = 0; l < run; l += line) kernels::stream_line(made + l, y + k + l);
    }
  move_to(k);
  lane_loop<F, T>(at, y + k, n - k, std::make_index_sequence<N>{});
}
template <int N, class F, class T>
[[gnu::flatten, gnu::target("avx2,bmi2,fma")]] void past_v3(const void* const* in, void* out, std::size_t n) {
  past_loop<N, F, T>(in, out, n);
}
template <int N, class F, class T>
[[gnu::flatten, gnu::target(WEFT_TARGET_V4)]] void past_v4(const void* const* in, void* out, std::size_t n) {
  past_loop<N, F, T>(in, out, n);
}
#endif

template <int N, class F, class T>
void one_lane(const void* const* in, void* out, std::size_t) {
  lane_loop<F, T>(in, out, 1, std::make_index_sequence<N>{});
}

// The element types that models compute with have clones; for the others the baseline must do. Sanitizers look at the source, which is
// the same for all clones, and one takes them long enough.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kClones = false;
#else
inline constexpr bool kClones = true;
#endif
template <class T>
inline constexpr bool kHasClones =
    kClones && (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>);

template <int N, class F, class T, bool fused>
kernels::PerIsa<kernels::TileFn> lane_clones() {
#if defined(__x86_64__)
  using L = std::conditional_t<fused && std::is_same_v<T, float>, kernels::lane::Fused, T>;
  if constexpr (kHasClones<T>) return {{&lanes_baseline<N, F, T>, &lanes_v3<N, F, L>, &lanes_v4<N, F, L>}};
#endif
  return {{&lanes_baseline<N, F, T>, &lanes_baseline<N, F, T>, &lanes_baseline<N, F, T>}};
}

/// The lanes of f32 with stores past the caches, or null.
template <int N, class F, class T>
kernels::TileFn past_form() {
#if defined(__x86_64__)
  if constexpr (kClones) return kernels::PerIsa<kernels::TileFn>{{nullptr, &past_v3<N, F, T>, &past_v4<N, F, T>}}[kernels::isa()];
#endif
  return nullptr;
}

template <int N, class F, class T, bool fused>
void add_lanes(Tile& tile) {
  using R = decltype(std::apply(F{}, std::array<T, N>{}));
  static_assert(std::is_arithmetic_v<R>, "lanes return numbers; did a lane function convert to Tensor?");
  const auto at = static_cast<std::size_t>(dtype_of<T>());
  tile.every[at] = lane_clones<N, F, T, fused>();
  tile.fn[at] = tile.every[at][kernels::isa()];
  // Lanes of Fused numbers have other bits for each set, and those of rare types are not worth it.
  if constexpr (!fused && (kHasClones<T> || std::is_same_v<T, bool>)) tile.one[at] = &one_lane<N, F, T>;
  else tile.one[at] = tile.fn[at];
  tile.out[at] = dtype_of<R>();
}

template <int N, bool fused, class F, class... T>
Tile make_tile(Types<T...>) {
  Tile tile{.arity = N, .fused = fused};
  (add_lanes<N, F, T, fused>(tile), ...);
  if constexpr (fused) tile.past = past_form<N, F, kernels::lane::Fused>();
  else if constexpr (requires { F::kLink; }) {
    tile.past = past_form<N, F, float>();
    tile.link = F::kLink;
  }
  return tile;
}

}  // namespace detail

/// `lanes<2, Floats>([](auto a, auto b) { return a + b; })`: F is captureless and is called with N values of one type.
template <int N, class List, class F>
Tile lanes(F) {
  return detail::make_tile<N, false, F>(List{});
}
/// As lanes, but f32 lanes may be kernels::lane::Fused: for functions that arithmetic, not memory, would limit.
template <int N, class F>
Tile fused_lanes(F) {
  return detail::make_tile<N, true, F>(Floats{});
}

}  // namespace weft::inline v0
