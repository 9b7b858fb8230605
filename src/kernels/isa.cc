#include "kernels/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace weft::inline v0::kernels {
namespace {

Isa find_best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
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
