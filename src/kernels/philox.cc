#include "kernels/philox.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/pool.h"

namespace weft::inline v0::kernels {
namespace {

// 16-bit floats are drawn and scaled in float and rounded at the end.
template <class T>
using Wide = std::conditional_t<std::same_as<T, double>, double, float>;
// Words that one value takes.
template <class T>
inline constexpr int kWords = sizeof(T) == 8 ? 2 : 1;

template <class T>
Wide<T> narrow_and_back(Wide<T> value) {
  return static_cast<Wide<T>>(static_cast<T>(value));
}

// A value in [0, 1) from the low mantissa bits of the words: they are put behind a leading one, which is taken off again.
template <class T>
Wide<T> unit(const std::uint32_t* words) {
  if constexpr (std::same_as<T, double>) {
    const std::uint64_t mantissa = (static_cast<std::uint64_t>(words[0] & 0xfffffu) << 32) | words[1];
    return std::bit_cast<double>((std::uint64_t{1023} << 52) | mantissa) - 1.0;
  } else {
    constexpr int bits = std::same_as<T, float> ? 23 : std::same_as<T, float16> ? 10 : 7;
    const std::uint32_t mantissa = (words[0] & ((1u << bits) - 1)) << (23 - bits);
    return std::bit_cast<float>((127u << 23) | mantissa) - 1.0f;
  }
}

// The largest value below `high`, which is finite.
template <class T>
T below(T high) {
  if constexpr (std::floating_point<T>) {
    return std::nextafter(high, -std::numeric_limits<T>::infinity());
  } else {
    T result = high;
    const bool zero = (high.bits & 0x7fff) == 0, negative = (high.bits & 0x8000) != 0;
    result.bits = static_cast<std::uint16_t>(zero ? 0x8001 : negative ? high.bits + 1 : high.bits - 1);
    return result;
  }
}

template <class F>
void box_muller(F first, F second, F* out) {
  const F radius = std::sqrt(F(-2) * std::log(std::max(first, F(1e-7f))));  // keeps the logarithm of 0 away
  const F angle = static_cast<F>(2 * std::numbers::pi * second);
  out[0] = std::sin(angle) * radius;
  out[1] = std::cos(angle) * radius;
}

// Two normal values from the words of two uniform ones. Those of 16-bit types are drawn as floats.
template <class T>
void normal_pair(const std::uint32_t* words, Wide<T>* out) {
  box_muller(unit<Wide<T>>(words), unit<Wide<T>>(words + kWords<T>), out);
}

constexpr std::int64_t kChunk = 4096;  // values that one thread draws at a time, a multiple of every group

// Calls emit(i, words) for every value i < count with the words it takes: any part of the stream can be computed at once.
template <int kWordsEach, class Emit>
void for_each_value(PhiloxState start, std::int64_t count, const Emit& emit) {
  constexpr std::int64_t each = 4 / kWordsEach;
  parallel_ranges(count, kChunk, [&](std::int64_t begin, std::int64_t end) {
    PhiloxState state = start.after(static_cast<std::uint64_t>(begin / each));
    for (std::int64_t first = begin; first < end; first += each, state = state.after(1)) {
      const PhiloxBlock block = state.block();
      for (std::int64_t i = 0; i < std::min(each, end - first); ++i) emit(first + i, block.data() + i * kWordsEach);
    }
  });
}

template <class T>
T scaled(Wide<T> value, Wide<T> stddev, Wide<T> mean) {
  return static_cast<T>(narrow_and_back<T>(narrow_and_back<T>(value) * stddev) + mean);
}

}  // namespace

PhiloxBlock philox(PhiloxBlock counter, std::uint32_t key_low, std::uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter[0], odd = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key_low, static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key_high, static_cast<std::uint32_t>(even)};
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return counter;
}

PhiloxState PhiloxState::after(std::uint64_t blocks, int shift) const {
  PhiloxState result = *this;
  result.counter_low += blocks << shift;
  result.counter_high += (shift == 0 ? 0 : blocks >> (64 - shift)) + (result.counter_low < counter_low ? 1 : 0);
  return result;
}

PhiloxBlock PhiloxState::block() const {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  return philox({low(counter_low), high(counter_low), low(counter_high), high(counter_high)}, low(key), high(key));
}

PhiloxState philox_from_seeds(std::uint64_t first, std::uint64_t second) {
  const PhiloxBlock mixed = PhiloxState{first, second, 0x02461e293ec8f720}.block();
  return {0, mixed[2] | std::uint64_t{mixed[3]} << 32, mixed[0] | std::uint64_t{mixed[1]} << 32};
}

template <class T>
void philox_bits(PhiloxState state, std::int64_t count, T* out) {
  for_each_value<kWords<T>>(state, count, [&](std::int64_t i, const std::uint32_t* words) {
    if constexpr (sizeof(T) == 8) out[i] = words[0] | std::uint64_t{words[1]} << 32;
    else out[i] = static_cast<T>(words[0]);
  });
}

template <class T>
void philox_integers(PhiloxState state, std::int64_t count, T low, std::uint64_t range, T* out) {
  for_each_value<kWords<T>>(state, count, [&](std::int64_t i, const std::uint32_t* words) {
    if constexpr (sizeof(T) == 8) out[i] = low + (words[0] | std::uint64_t{words[1]} << 32) % range;
    else out[i] = static_cast<T>(low + words[0] % range);  // cut to the width of T
  });
}

template <class T>
void philox_uniform(PhiloxState state, std::int64_t count, double low, double high, T* out) {
  using W = Wide<T>;
  const T bottom = static_cast<T>(static_cast<W>(low)), top = static_cast<T>(static_cast<W>(high));
  const W base = static_cast<W>(bottom), limit = static_cast<W>(top), width = narrow_and_back<T>(limit - base);
  for_each_value<kWords<T>>(state, count, [&](std::int64_t i, const std::uint32_t* words) {
    const T value = static_cast<T>(narrow_and_back<T>(unit<T>(words) * width) + base);
    out[i] = static_cast<W>(value) < limit ? value : below(top);  // rounding may reach the end
  });
}

template <class T>
void philox_normal(PhiloxState state, std::int64_t count, double mean, double stddev, T* out) {
  using W = Wide<T>;
  const W shift = narrow_and_back<T>(static_cast<W>(mean)), scale = narrow_and_back<T>(static_cast<W>(stddev));
  for_each_value<2 * kWords<T>>(state, (count + 1) / 2, [&](std::int64_t i, const std::uint32_t* words) {
    W pair[2];
    normal_pair<T>(words, pair);
    out[2 * i] = scaled<T>(pair[0], scale, shift);
    if (2 * i + 1 < count) out[2 * i + 1] = scaled<T>(pair[1], scale, shift);
  });
}

// A group of values owns a region of the stream, so that the rejections of one group do not move the next.
template <class T>
void philox_truncated_normal(PhiloxState state, std::int64_t count, double mean, double stddev, T* out) {
  using W = Wide<T>;
  const W shift = narrow_and_back<T>(static_cast<W>(mean)), scale = narrow_and_back<T>(static_cast<W>(stddev));
  constexpr std::int64_t group = 4 / kWords<T>;
  constexpr std::uint64_t region = group << kPhiloxReserveShift >> 2;
  parallel_ranges(count, kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += group) {
      const std::int64_t last = std::min(first + group, end);
      PhiloxState at = state.after(static_cast<std::uint64_t>(first / group) * region);
      for (std::int64_t i = first; i < last; at = at.after(1)) {
        const PhiloxBlock block = at.block();
        for (int word = 0; word < 4; word += 2 * kWords<T>) {
          W pair[2];
          normal_pair<T>(block.data() + word, pair);
          for (const W value : pair)
            if (std::abs(value) < W(2) && i < last) out[i++] = scaled<T>(value, scale, shift);
        }
      }
    }
  });
}

template void philox_bits(PhiloxState, std::int64_t, std::uint8_t*);
template void philox_bits(PhiloxState, std::int64_t, std::uint16_t*);
template void philox_bits(PhiloxState, std::int64_t, std::uint32_t*);
template void philox_bits(PhiloxState, std::int64_t, std::uint64_t*);
template void philox_integers(PhiloxState, std::int64_t, std::uint8_t, std::uint64_t, std::uint8_t*);
template void philox_integers(PhiloxState, std::int64_t, std::uint16_t, std::uint64_t, std::uint16_t*);
template void philox_integers(PhiloxState, std::int64_t, std::uint32_t, std::uint64_t, std::uint32_t*);
template void philox_integers(PhiloxState, std::int64_t, std::uint64_t, std::uint64_t, std::uint64_t*);
template void philox_uniform(PhiloxState, std::int64_t, double, double, float*);
template void philox_uniform(PhiloxState, std::int64_t, double, double, double*);
template void philox_uniform(PhiloxState, std::int64_t, double, double, float16*);
template void philox_uniform(PhiloxState, std::int64_t, double, double, bfloat16*);
template void philox_normal(PhiloxState, std::int64_t, double, double, float*);
template void philox_normal(PhiloxState, std::int64_t, double, double, double*);
template void philox_normal(PhiloxState, std::int64_t, double, double, float16*);
template void philox_normal(PhiloxState, std::int64_t, double, double, bfloat16*);
template void philox_truncated_normal(PhiloxState, std::int64_t, double, double, float*);
template void philox_truncated_normal(PhiloxState, std::int64_t, double, double, double*);
template void philox_truncated_normal(PhiloxState, std::int64_t, double, double, float16*);
template void philox_truncated_normal(PhiloxState, std::int64_t, double, double, bfloat16*);

}  // namespace weft::inline v0::kernels
