// T1: eager add of two f32 scalars, plain and under a tape.
#include <weft/weft.h>

#include "bench.h"

namespace bench {
namespace {

// The limit c0: an indirect call that takes a block from a free list and gives it back.
struct Block {
  Block* next;
};
Block first_block{nullptr};
Block* free_list = &first_block;

void pop_and_push() {
  Block* block = free_list;
  free_list = block->next;
  keep(block);
  block->next = free_list;
  free_list = block;
}
void (*volatile indirect)() = pop_and_push;

void run_limit(long count) {
  for (long i = 0; i < count; ++i) indirect();
}

}  // namespace

std::vector<Case> eager_add_cases() {
  const weft::Tensor a(1.5f, weft::f32), b(2.5f, weft::f32);
  return {
      {"T1", "eager add of two f32 scalars",
       [=](long count) {
         for (long i = 0; i < count; ++i) keep(a + b);
       },
       run_limit, 1'000'000},
      {"T1", "eager add of two f32 scalars, recorded by a tape",
       [=](long count) {
         // A tape in real use holds hundreds of records, not millions: each one lives for 1,000 adds.
         for (long done = 0; done < count; done += 1000) {
           weft::GradientTape tape;
           tape.watch(a);
           for (long i = 0; i < 1000; ++i) keep(a + b);
         }
       },
       run_limit, 1'000'000},
  };
}

}  // namespace bench
