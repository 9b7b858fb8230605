// A program of somebody who has Weft installed: values come back from the library, and so do exceptions.
#include <cstdio>

#include <weft/weft.h>

int main() {
  using namespace weft;
  Tensor x = {{1.f, 2.f}, {3.f, 4.f}};
  std::printf("%s\n", x.spec().str().c_str());
  try {
    Shape refused{2, -7};
    return 1;
  } catch (const ShapeError& error) {
    std::printf("refused with a ShapeError\n");
  }
}
