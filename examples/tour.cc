// A tour of tensors and gradients. Run it with ./scripts/demo.
#include <weft/weft.h>

using namespace weft;

namespace {

void heading(const char* text) { print("\n== {} ==", text); }

void tensors() {
  heading("Tensors are values");
  Tensor x = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
  print("x =\n{}", x);
  print("x * 2 + 1 =\n{}", x * 2 + 1);                       // literals take the tensor's dtype
  print("x - mean over rows =\n{}", x - mean(x, {.axis = 0}));  // shapes broadcast
  print("last column {}", x(all, -1));
  print("rows backwards, columns from 1 =\n{}", x(range(none, none, -1), range(1, none)));
  print("x @ x^T =\n{}", matmul(x, x, {.transpose_b = true}));
  print("half precision {}", exp(cast(x[0], bf16)));
}

void gradients() {
  heading("Gradients");
  Tensor x = {0.5f, 1.f, 2.f};
  GradientTape tape;
  tape.watch(x);
  Tensor y = sum(sin(x) * x);
  print("d/dx sum(x sin x) = {}", tape.gradient(y, x));

  heading("Gradients of gradients");
  Tensor z = 2.f;
  GradientTape outer;
  outer.watch(z);
  Tensor dz;
  {
    GradientTape inner;
    inner.watch(z);
    dz = inner.gradient(z * z * z, z);
  }
  print("z^3 at 2: first derivative {}, second {}", dz, outer.gradient(dz, z));

  heading("Sparse gradients");
  Tensor table = ones({1000, 2});
  GradientTape sparse;
  sparse.watch(table);
  Tensor looked_up = gather(table, {3, 7, 3});
  const Grad d = sparse.gradients({sum(looked_up * looked_up)}, {table})[0];
  print("a lookup of 3 of 1000 rows has a gradient of {} rows, at {}", d.slices().values.shape(), d.slices().indices);
}

void fit() {
  heading("A line through points, by hand");
  Tensor x = linspace(-1.f, 1.f, 50);
  Tensor noise = random_normal(Tensor({7, 0, 0}, i64), {50});
  Tensor target = 3 * x - 0.5f + 0.05f * noise;
  Tensor w = 0.f, b = 0.f;
  for (int step = 0; step <= 100; ++step) {
    GradientTape tape;
    tape.watch(w);
    tape.watch(b);
    Tensor loss = mean(square(w * x + b - target));
    const auto d = tape.gradient(loss, std::vector<Tensor>{w, b});
    w -= 0.3f * d[0];
    b -= 0.3f * d[1];
    if (step % 25 == 0) print("step {:>3}  loss {:.5f}  w {:.3f}  b {:.3f}", step, loss, w, b);
  }
}

void errors() {
  heading("Mistakes say what is wrong");
  const Tensor a = zeros({2, 3}), b = zeros({4});
  try {
    a + b;
  } catch (const ShapeError& error) {
    print("{}", error.what());
  }
  try {
    Tensor({1, 2, 3}) + 0.5;
  } catch (const DtypeError& error) {
    print("{}", error.what());
  }
  try {
    gather(a, {0, 5});
  } catch (const IndexError& error) {
    print("{}", error.what());
  }
}

}  // namespace

int main() {
  tensors();
  gradients();
  fit();
  errors();
  return 0;
}
