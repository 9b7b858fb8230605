#include "kernels/chain.h"

#include "kernels/isa/lanes.h"

// Labels as values: each link jumps to the next one by itself, so that the processor learns which that is. With one jump for all of them,
// which g++ would make of it, a chain takes three times as long.
#pragma GCC diagnostic ignored "-Wpedantic"
#if defined(__clang__)
#define WEFT_OWN_JUMPS
#else
#define WEFT_OWN_JUMPS [[gnu::optimize("no-gcse", "no-crossjumping")]]
#endif

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

using Floats = Vec<float>;
constexpr std::size_t kVector = kWidth<float>;

WEFT_INLINE void store_past(float* to, Floats v) {
#if defined(WEFT_ISA_v4)
  _mm512_stream_ps(to, v);
#elif defined(WEFT_ISA_v3)
  _mm256_stream_ps(to, v);
#elif defined(__SSE2__)
  _mm_stream_ps(to, v);
#else
  store(to, v);
#endif
}

// Asks memory for the lines of the n lanes at x, and of what follows them. By measurement: where vectors are whole lines it is best to load them,
// all before the first of them is needed, and to leave what follows to the processor.
WEFT_INLINE void ask_for(const float* x, std::size_t n) {
#if defined(WEFT_ISA_v4)
  for (std::size_t k = 0; k < n; k += kVector) asm volatile("" : : "v"(load<float>(x + k)));
#else
  fetch_ahead(x, static_cast<std::int64_t>(n));
#endif
}

#define WEFT_JUMP                                                     \
  do {                                                                \
    at = link->x + (k & static_cast<std::size_t>(link->moves));       \
    goto* labels[link->stream][static_cast<std::size_t>(link->link)]; \
  } while (false)
// Does `statement` with each vector of the accumulator, a[v], and of the operand, x; then goes to the next link.
#define WEFT_EACH(statement)                                    \
  do {                                                          \
    for (std::size_t v = 0; v < vectors; ++v) {                 \
      [[maybe_unused]] float* const x = at + v * kVector;       \
      statement;                                                \
    }                                                           \
    ++link;                                                     \
    WEFT_JUMP;                                                  \
  } while (false)

enum class Of { kVectors, kSome, kOne };  // what an accumulator holds: whole vectors; fewer lanes than one has; a single lane

// The lanes from k on, as many at a time as `vectors` have, until fewer are left; or, kSome, those last ones. Returns where it stopped. Or, kOne,
// one lane n times; then the links begin at `again`.
template <std::size_t vectors, Of of = Of::kVectors>
WEFT_OWN_JUMPS std::size_t run_from(std::size_t k, const BoundLink* links, std::size_t n, [[maybe_unused]] const BoundLink* again = nullptr) {
// Each stream has readers of its own.
#define WEFT_LABELS(s)                                                                                           \
  {&&load##s, &&add##s,    &&subtract##s, &&subtract_from##s, &&multiply##s, &&divide##s, &&divide_into##s, \
   &&keep,    &&keep_past, &&ask##s,      &&negative,         &&square,      &&relu,      &&end}
  static const void* const labels[][static_cast<std::size_t>(Link::kNone)] = {WEFT_LABELS(0), WEFT_LABELS(1), WEFT_LABELS(2), WEFT_LABELS(3)};
  static_assert(sizeof(labels) / sizeof(*labels) == kStreams + 1);
  static_assert((of == Of::kVectors || vectors == 1) && vectors * kVector <= kChainLanes);
  using Held = std::conditional_t<of == Of::kOne, float, Floats>;
  [[maybe_unused]] const auto rest = static_cast<std::int64_t>(n - k);
  const auto get = [&](const float* x) __attribute__((always_inline)) {
    if constexpr (of == Of::kOne) return *x;
    else return of == Of::kSome ? load_some(x, rest, 0.f) : load<float>(x);
  };
  const auto put = [&](float* x, Held value) __attribute__((always_inline)) {
    if constexpr (of == Of::kOne) *x = value;
    else if constexpr (of == Of::kSome) store_some(x, rest, value);
    else store(x, value);
  };
  if (of == Of::kVectors && k + vectors * kVector > n) return k;
  Held a[vectors] = {};
  float* at;
  const BoundLink* link = links;
  WEFT_JUMP;
#define WEFT_READERS(s)                                      \
  load##s: WEFT_EACH(a[v] = get(x));                         \
  add##s: WEFT_EACH(a[v] = a[v] + get(x));                   \
  subtract##s: WEFT_EACH(a[v] = a[v] - get(x));              \
  subtract_from##s: WEFT_EACH(a[v] = get(x) - a[v]);         \
  multiply##s: WEFT_EACH(a[v] = a[v] * get(x));              \
  divide##s: WEFT_EACH(a[v] = a[v] / get(x));                \
  divide_into##s: WEFT_EACH(a[v] = get(x) / a[v]);           \
  ask##s:                                                    \
  if constexpr (vectors > 1) ask_for(at, vectors * kVector); \
  ++link;                                                    \
  WEFT_JUMP;
  WEFT_READERS(0) WEFT_READERS(1) WEFT_READERS(2) WEFT_READERS(3)
negative: WEFT_EACH(a[v] = -a[v]);
square: WEFT_EACH(a[v] = a[v] * a[v]);
relu: WEFT_EACH(a[v] = a[v] < Held{} ? Held{} : a[v]);
keep: WEFT_EACH(put(x, a[v]));
keep_past:  // only whole lines are worth it
  if constexpr (vectors == 1) WEFT_EACH(put(x, a[v]));
  else WEFT_EACH(store_past(x, a[v]));
end:
  if constexpr (of == Of::kOne) {
    if (--n == 0) return k;
    link = again;
  } else {
    k += vectors * kVector;
    if (of == Of::kSome || k + vectors * kVector > n) return k;
    link = links;
  }
  WEFT_JUMP;
}

void run(const BoundLink* links, std::size_t n) {
  std::size_t k = run_from<8>(0, links, n);
  if (k < n) k = run_from<1>(k, links, n);
  if (k < n) run_from<1, Of::kSome>(k, links, n);
}

void repeat(const BoundLink* links, const BoundLink* again, std::int64_t times) {
  run_from<1, Of::kOne>(0, links, static_cast<std::size_t>(times), again);
}

}  // namespace

extern const ChainKernels chain_kernels = {run, repeat};

}  // namespace weft::inline v0::kernels::WEFT_ISA
