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
  if(sources)
    add_library(weft_${name} OBJECT ${sources})
    target_include_directories(weft_${name} PRIVATE ${tree})
    target_link_libraries(weft_${name} PRIVATE weft_flags)
    # Calls between Weft's own functions cannot be replaced from outside, so they may be inlined and bound directly.
    target_compile_options(weft_${name} PRIVATE -fno-semantic-interposition)
    set_target_properties(weft_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                                  CXX_VISIBILITY_PRESET hidden
                                                  VISIBILITY_INLINES_HIDDEN ON)
    list(APPEND WEFT_OBJECTS $<TARGET_OBJECTS:weft_${name}>)
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
