// Instruction sets: which one this process uses, and how code compiled for several is reached.
//
// Kernels in src/kernels/isa/*.cc are compiled once for each set, into namespace kernels::baseline, ::v3 and ::v4 (WEFT_ISA is the one
// being compiled). Such a file holds nothing but functions with internal linkage and one constant table of pointers to them: an inline
// function of the standard library that was compiled for v4 could be the copy the linker keeps, and would then stop older processors. A
// test reads the symbols of those files. Tile bodies in rows have one clone for each set instead (core/tile.h).
#pragma once

#include <array>

namespace weft::inline v0::kernels {

/// The levels of the x86-64 psABI that matter here: SSE2; AVX2, FMA and F16C; AVX-512 F, BW, CD, DQ and VL.
enum class Isa : unsigned char { kBaseline, kV3, kV4 };
inline constexpr int kNumIsas = 3;

/// What this processor and operating system can run.
Isa best_isa();
/// What kernels use: best_isa(), or less if the environment variable WEFT_ISA says baseline, v3 or v4. Read once.
Isa isa();
const char* name_of(Isa isa);

/// One value for each set.
template <class T>
struct PerIsa {
  std::array<T, kNumIsas> at;
  const T& operator[](Isa isa) const { return at[static_cast<std::size_t>(isa)]; }
};

// Declares the tables `name` of the three namespaces and name(), the one to use now; name(isa) is for tests.
#if defined(__x86_64__)
#define WEFT_ISA_TABLE(Type, name)                                                                   \
  namespace baseline { extern const Type name; }                                                     \
  namespace v3 { extern const Type name; }                                                           \
  namespace v4 { extern const Type name; }                                                           \
  inline const Type& name(Isa set) {                                                                 \
    return set == Isa::kV4 ? v4::name : set == Isa::kV3 ? v3::name : baseline::name;                 \
  }                                                                                                  \
  inline const Type& name() { return name(isa()); }
#else
#define WEFT_ISA_TABLE(Type, name)                        \
  namespace baseline { extern const Type name; }          \
  inline const Type& name(Isa) { return baseline::name; } \
  inline const Type& name() { return baseline::name; }
#endif

}  // namespace weft::inline v0::kernels
