# How every file of the project is compiled: the language, the warnings, the arithmetic.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()

# Without these permissions ccache keeps nothing that was compiled with a precompiled header. With tests, paths are relative ones, so that
# another clone finds what this one has compiled (and a debugger in that clone the sources of this one).
find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
  if(WEFT_TESTS)
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_CCACHE})
endif()

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${WEFT_WERROR}>:-Werror>
  # A product and a sum stay two roundings on every machine, so results do not depend on the compiler's choice.
  -ffp-contract=off
  # g++ 12 sees overlapping copies in "text" + std::to_string(n) at -O3 where there are none (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Clang warns where a loop that allows unrolling or vectorising gets neither; some instances of a template cannot.
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed>)

# Loops of the library's own arithmetic are vectorised: nobody asks math functions for errno or for traps. None of these flags changes a result.
# A build with line numbers does so at its own level, which is quicker to compile, but for the kernels; one with instruments is slow enough as it is.
add_library(weft_arithmetic INTERFACE)
target_compile_options(weft_arithmetic INTERFACE -fno-math-errno -fno-trapping-math
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:RelWithDebInfo>,$<NOT:$<BOOL:${WEFT_INSTRUMENTED}>>>:-ftree-vectorize;-fvect-cost-model=dynamic>)
add_library(weft_kernel_arithmetic INTERFACE)
target_compile_options(weft_kernel_arithmetic INTERFACE $<$<AND:$<CONFIG:RelWithDebInfo>,$<NOT:$<BOOL:${WEFT_INSTRUMENTED}>>>:-O3>)

# weft_precompile(<target> <header>...): what its sources include is compiled once. The time of a header is no part of that, or clang would refuse
# what ccache has kept.
function(weft_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang,AppleClang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# The shared library gives away the symbols of namespace weft and no others: not even the templates of the standard
# library that it instantiates, which -fvisibility=hidden leaves visible.
function(weft_export_only_weft library)
  set(script ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(${library} PRIVATE -Wl,--version-script=${script})
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${library} PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(${library} PROPERTIES LINK_DEPENDS ${script})
endfunction()
