# Layers that the compiler enforces.
#
# Each layer is compiled against one include folder made for it, <build>/layers/<layer>, and against nothing else:
#
#   layers/core/base, kernels, core   links to src/base, src/kernels, src/core
#   layers/core/weft/                 links to the public headers of those layers
#
# `#include "ops/table.h"` or `#include <weft/tape.h>` in src/core is then a file that does not exist.

set(WEFT_LAYERS "")          # names, bottom to top
set(WEFT_LAYER_HEADERS "")   # public headers of those layers
set(WEFT_LAYER_TABLE "")     # <name>=<header>,<header>... for the test of the layers
set(WEFT_OBJECTS "")         # what the libraries are made of

# The instruction sets for which the files in src/<layer>/isa are compiled (src/kernels/isa.h).
set(WEFT_ISAS baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND WEFT_ISAS v3 v4)
endif()
set(WEFT_FLAGS_baseline "")
set(WEFT_FLAGS_v3 -mavx2 -mfma -mf16c -mbmi2)
set(WEFT_FLAGS_v4 ${WEFT_FLAGS_v3} -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl -mprefer-vector-width=512)
# Where the address sanitizer looks for pointers to variables of functions that have returned, g++ 12 puts those variables into memory that is aligned
# for 32 bytes, and reads vectors of 64 from it that must be aligned (GCC bug 110027).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*address")
  list(APPEND WEFT_FLAGS_v4 "SHELL:--param asan-use-after-return=0")
endif()

# weft_layer_objects(<target> <include folder> <source>...): what every part of the library is compiled with.
function(weft_layer_objects target tree)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE ${tree})
  # Calls between Weft's own functions cannot be replaced from outside, so they may be inlined and bound directly.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  target_link_libraries(${target} PRIVATE weft_flags weft_arithmetic)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                             CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON)
  list(APPEND WEFT_OBJECTS $<TARGET_OBJECTS:${target}>)
  return(PROPAGATE WEFT_OBJECTS)
endfunction()

# weft_layer(<name> <public header or folder>...): adds src/<name> on top of the layers declared so far.
function(weft_layer name)
  list(APPEND WEFT_LAYERS ${name})
  list(APPEND WEFT_LAYER_HEADERS ${ARGN})
  list(JOIN ARGN "," headers)
  list(APPEND WEFT_LAYER_TABLE "${name}=${headers}")

  set(tree ${PROJECT_BINARY_DIR}/layers/${name})
  file(REMOVE_RECURSE ${tree})
  file(MAKE_DIRECTORY ${tree}/weft)
  foreach(layer IN LISTS WEFT_LAYERS)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${layer} ${tree}/${layer} SYMBOLIC)
  endforeach()
  foreach(header IN LISTS WEFT_LAYER_HEADERS)
    if(EXISTS ${PROJECT_SOURCE_DIR}/include/weft/${header})
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/weft/${header} ${tree}/weft/${header} SYMBOLIC)
    endif()
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(per_isa ${sources})
  list(FILTER per_isa INCLUDE REGEX "/isa/")
  list(FILTER sources EXCLUDE REGEX "/isa/")
  if(sources)
    weft_layer_objects(weft_${name} ${tree} ${sources})
    if(WEFT_PRECOMPILED AND core IN_LIST WEFT_LAYERS)  # each layer compiles it in its own folder, and sees no more than before
      weft_precompile(weft_${name} <core/apply.h>)
      # g++ 12 then warns of its own std::string; release builds, which compile every header anew, still look for such copies.
      target_compile_options(weft_${name} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
    endif()
  endif()
  if(per_isa)
    foreach(isa IN LISTS WEFT_ISAS)
      weft_layer_objects(weft_${name}_${isa} ${tree} ${per_isa})
      target_link_libraries(weft_${name}_${isa} PRIVATE weft_kernel_arithmetic)
      target_compile_definitions(weft_${name}_${isa} PRIVATE WEFT_ISA=${isa} WEFT_ISA_${isa})
      target_compile_options(weft_${name}_${isa} PRIVATE ${WEFT_FLAGS_${isa}})
    endforeach()
  endif()

  return(PROPAGATE WEFT_LAYERS WEFT_LAYER_HEADERS WEFT_LAYER_TABLE WEFT_OBJECTS)
endfunction()

# weft_top_headers(<header>...): the public headers that no layer may include. Every header must have found its place
# by now.
function(weft_top_headers)
  file(GLOB present RELATIVE ${PROJECT_SOURCE_DIR}/include/weft CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/weft/*)
  list(FILTER present INCLUDE REGEX "^[a-z0-9_]+(\\.h)?$")
  list(REMOVE_ITEM present ${WEFT_LAYER_HEADERS} ${ARGN})
  if(present)
    message(FATAL_ERROR "No layer owns include/weft/{${present}}: name each beside its layer in CMakeLists.txt.")
  endif()
endfunction()
