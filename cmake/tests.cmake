# What ctest runs: the unit tests as one program in a few shards, and the checks of the source tree and of the build.

find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

file(GLOB tests CONFIGURE_DEPENDS src/*/*_test.cc tests/*.cc tests/fuzz/*.cc)
if(tests)
  add_executable(weft_tests ${tests})
  target_link_libraries(weft_tests PRIVATE weft_flags weft_static GTest::gtest_main nlohmann_json::nlohmann_json)
  target_include_directories(weft_tests PRIVATE src .)  # "core/op.h" and "tests/support.h"
  target_sources(weft_tests PRIVATE examples/digits/draw.cc examples/digits/hands.cc)
  # Compiling the tests takes longer than running them: what they all include is compiled once, and they are hardly optimised.
  weft_precompile(weft_tests <gtest/gtest.h> <weft/weft.h>)
  target_compile_options(weft_tests PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  target_link_options(weft_tests PRIVATE -Wl,--wrap=aligned_alloc)  # so that it can fail: tests/failing_memory.h
  # Only for those that name it: the others need not be compiled again when the project moves.
  foreach(source IN LISTS tests)
    file(STRINGS ${source} named REGEX "WEFT_SOURCE_DIR" LIMIT_COUNT 1)
    if(named)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endif()
  endforeach()

  # One program is cheap to link; a process per test would cost more than the tests. Each shard leaves its results in
  # results/<name>.json, where scripts/test counts them.
  set(shards 2)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(results ${PROJECT_BINARY_DIR}/results/weft_tests.${shard}.json)
    add_test(NAME weft_tests.${shard} COMMAND weft_tests)
    set_tests_properties(weft_tests.${shard} PROPERTIES LABELS unit TIMEOUT 3600 ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};GTEST_OUTPUT=json:${results}")
  endforeach()
endif()

# The compilers whose judgement on public headers counts: two, because each accepts things the other refuses.
set(judges "")
foreach(name g++ clang++-14)
  find_program(WEFT_JUDGE_${name} ${name})
  if(WEFT_JUDGE_${name})
    list(APPEND judges ${WEFT_JUDGE_${name}})
  else()
    message(WARNING "${name} is not installed: public headers are not tried with it.")
  endif()
endforeach()

# weft_check(<name> <command>...): a check that is one run of a program.
function(weft_check name)
  add_test(NAME ${name} COMMAND ${ARGN} COMMAND_EXPAND_LISTS)
  set_tests_properties(${name} PROPERTIES LABELS check TIMEOUT 3600)
endfunction()

function(weft_script_check name script)
  weft_check(${name} ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/${script} ${ARGN})
endfunction()

# The fuzzer against bugs of src/base/planted.h: the sources that have some are compiled once more, with switches for them, and win over
# those in the library.
file(GLOB fuzzer CONFIGURE_DEPENDS tests/fuzz/*.cc tests/fuzz/planted/*.cc)
list(FILTER fuzzer EXCLUDE REGEX "fuzz_test\\.cc$")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/*.cc)
set(with_bugs "")
foreach(source IN LISTS sources)
  file(STRINGS ${source} planted REGEX "base/planted\\.h" LIMIT_COUNT 1)
  if(planted)
    list(APPEND with_bugs ${source})
  endif()
endforeach()
add_executable(weft_planted_tests ${fuzzer} ${with_bugs})
target_compile_definitions(weft_planted_tests PRIVATE WEFT_PLANTED_BUGS)
target_link_libraries(weft_planted_tests PRIVATE weft_flags weft_arithmetic weft_static GTest::gtest_main)
target_include_directories(weft_planted_tests PRIVATE src .)
weft_check(planted_bugs weft_planted_tests)

weft_script_check(line_budgets cmake/lint.py lines ${PROJECT_SOURCE_DIR})
weft_script_check(include_rules cmake/lint.py includes ${PROJECT_SOURCE_DIR})
weft_script_check(headers_alone cmake/headers.py ${PROJECT_SOURCE_DIR} ${judges})
weft_script_check(must_not_compile must_not_compile/run.py ${PROJECT_SOURCE_DIR} ${judges})
weft_script_check(layering cmake/layering.py ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${WEFT_LAYER_TABLE})
weft_script_check(exported_symbols cmake/symbols.py $<TARGET_FILE:weft>)
foreach(isa IN LISTS WEFT_ISAS)
  if(NOT isa STREQUAL baseline)
    weft_script_check(symbols_of_${isa} cmake/isa_symbols.py ${isa} $<TARGET_OBJECTS:weft_kernels_${isa}>)
  endif()
endforeach()
weft_script_check(installed_package cmake/install.py ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
                  ${CMAKE_CXX_COMPILER} ${PROJECT_VERSION})
if(TARGET weft_generate)
  weft_check(generated_files weft_generate --check ${PROJECT_SOURCE_DIR})
endif()
weft_script_check(gdb_printers gdb/run.py ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
weft_script_check(documentation cmake/snippets.py ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
if(TARGET tour)
  weft_script_check(examples cmake/examples.py ${PROJECT_SOURCE_DIR}/examples $<TARGET_FILE_DIR:tour>)
endif()
weft_script_check(add_an_op cmake/add_op.py ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
if(TARGET digits)
  weft_script_check(demo digits/run.py $<TARGET_FILE:digits>)
endif()
weft_script_check(benchmark_driver cmake/bench_driver.py ${PROJECT_SOURCE_DIR})

# The figures belong to the compiler of Debian 12 and to the build for every day.
find_program(WEFT_VALGRIND valgrind)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  message(STATUS "Instructions are counted for g++ only.")
elseif(WEFT_VALGRIND AND TARGET weft_bench)
  weft_script_check(instruction_counts cmake/instructions.py ${WEFT_VALGRIND} $<TARGET_FILE:weft_bench>
                    ${PROJECT_SOURCE_DIR}/tests/data/instruction_counts.txt)
else()
  message(WARNING "valgrind is not installed: instructions are not counted.")
endif()
