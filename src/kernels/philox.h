// Philox 4x32-10: random words as a function of a key and a counter, and the distributions made from them. The streams are
// TensorFlow's, word for word: what a distribution takes from the stream depends on its type only.
#pragma once

#include <array>
#include <cstdint>

#include <weft/dtype.h>

namespace weft::inline v0::kernels {

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// One block of words for a counter (least significant word first) and a key.
PhiloxBlock philox(PhiloxBlock counter, std::uint32_t key_low, std::uint32_t key_high);

/// A place in a stream: a 128-bit counter and a 64-bit key.
struct PhiloxState {
  std::uint64_t counter_low, counter_high, key;

  /// The state `blocks` * 2^shift blocks later; the counter wraps.
  PhiloxState after(std::uint64_t blocks, int shift = 0) const;
  PhiloxBlock block() const;
};

/// What one drawn value reserves of the stream, so that a rejecting distribution never runs into the next call's values.
inline constexpr int kPhiloxReserveShift = 8;  // 256 blocks

/// The state from which the stateless calls of TensorFlow draw for a pair of seeds.
PhiloxState philox_from_seeds(std::uint64_t first, std::uint64_t second);

/// Whole words as integers: T is unsigned; 64-bit values take two words, narrower ones the low bits of one.
template <class T>
void philox_bits(PhiloxState state, std::int64_t count, T* out);
/// low + word modulo range. REQUIRES: range > 0; T is unsigned, signed values are passed as their bits.
template <class T>
void philox_integers(PhiloxState state, std::int64_t count, T low, std::uint64_t range, T* out);
/// In [low, high): the mantissa's bits are random. T is any floating type.
template <class T>
void philox_uniform(PhiloxState state, std::int64_t count, double low, double high, T* out);
/// Pairs by Box and Muller.
template <class T>
void philox_normal(PhiloxState state, std::int64_t count, double mean, double stddev, T* out);
/// Normal values, of which those beyond two standard deviations are drawn again.
template <class T>
void philox_truncated_normal(PhiloxState state, std::int64_t count, double mean, double stddev, T* out);

}  // namespace weft::inline v0::kernels
