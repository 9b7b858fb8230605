#include "kernels/stream.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::inline v0::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::size_t kLine = 64;

// Each copies whole lines only, to aligned ones, and returns how many bytes that were.
std::size_t stream_lines(const char* from, char* to, std::size_t bytes) {
  std::size_t done = 0;
  for (; done + kLine <= bytes; done += kLine)
    for (std::size_t part = done; part < done + kLine; part += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + part), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + part)));
  return done;
}

[[gnu::target("avx")]] std::size_t stream_lines_v3(const char* from, char* to, std::size_t bytes) {
  std::size_t done = 0;
  for (; done + kLine <= bytes; done += kLine)
    for (std::size_t part = done; part < done + kLine; part += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + part), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + part)));
  return done;
}
#endif

}  // namespace

void stream(const void* from, void* to, std::size_t bytes) {
  const char* x = static_cast<const char*>(from);
  char* y = static_cast<char*>(to);
#if defined(__x86_64__)
  if (const std::size_t past = reinterpret_cast<std::uintptr_t>(y) % kLine; past != 0) {
    const std::size_t head = std::min(bytes, kLine - past);
    std::memcpy(y, x, head);
    x += head, y += head, bytes -= head;
  }
  const std::size_t done = isa() == Isa::kBaseline ? stream_lines(x, y, bytes) : stream_lines_v3(x, y, bytes);
  x += done, y += done, bytes -= done;
#endif
  std::memcpy(y, x, bytes);
}

}  // namespace weft::inline v0::kernels
