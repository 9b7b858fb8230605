# Programs beside the library. The generator may look inside; examples and benchmarks are users like any other.

# weft_program(<target> <library> <pattern>...): one program from the files that match, if there are any.
function(weft_program target library)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  if(sources)
    add_executable(${target} ${sources})
    target_link_libraries(${target} PRIVATE weft_flags ${library})
  endif()
endfunction()

weft_program(weft_generate weft_static tools/generate*.cc)
if(TARGET weft_generate)
  target_include_directories(weft_generate PRIVATE src)
endif()

# Two contestants of the benchmarks; the driver is benchmarks/driver.py, and it builds the others itself.
weft_program(weft_bench weft benchmarks/ours*.cc benchmarks/protocol.cc)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")  # it is written for those instructions
  weft_program(weft_limit Threads::Threads benchmarks/limit.cc benchmarks/protocol.cc)
endif()

# Who tests wants all examples; who builds the library asks for one by name.
if(WEFT_TESTS)
  add_subdirectory(examples)
else()
  add_subdirectory(examples EXCLUDE_FROM_ALL)
endif()
