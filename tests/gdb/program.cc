// What tests/gdb/run.py looks at.
#include <weft/weft.h>

using namespace weft;

int main() {
  Tensor matrix = {{1.f, 2.5f}, {-3.f, 4.f}};
  Tensor scalar(7, i64);
  Tensor halves({1.5f, -2.f}, f16), brains({1.5f, -2.f}, bf16);
  Tensor flags = {true, false};
  Tensor many = zeros({4, 5}), empty;
  Shape shape{2, -1, 3};
  Spec spec{u8, {2, 2}};
  asm volatile("" : : "g"(&matrix), "g"(&scalar), "g"(&halves), "g"(&brains), "g"(&flags), "g"(&many), "g"(&empty), "g"(&shape), "g"(&spec) : "memory");
  return 0;  // stop here
}
