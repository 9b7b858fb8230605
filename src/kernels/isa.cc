#include "kernels/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft::inline v0::kernels {
namespace {

#if defined(__x86_64__)
// Not every compiler knows it by name. That the system saves the registers it uses is part of what "avx2" asks.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Isa find_best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && has_f16c();
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return v4 ? Isa::kV4 : v3 ? Isa::kV3 : Isa::kBaseline;
#else
  return Isa::kBaseline;
#endif
}

Isa find_used() {
  const char* wish = std::getenv("WEFT_ISA");
  const std::string_view name = wish == nullptr ? "" : wish;
  const Isa cap = name == "baseline" ? Isa::kBaseline : name == "v3" ? Isa::kV3 : Isa::kV4;
  return std::min(cap, best_isa());
}

}  // namespace

Isa best_isa() {
  static const Isa best = find_best();
  return best;
}

Isa isa() {
  static const Isa used = find_used();
  return used;
}

const char* name_of(Isa isa) {
  constexpr const char* names[] = {"baseline", "v3", "v4"};
  return names[static_cast<int>(isa)];
}

}  // namespace weft::inline v0::kernels
