// A tour of tensors, gradients and state. Run it with ./scripts/demo --tour.
#include <thread>

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

void state() {
  heading("A Variable is a slot");
  Variable total{1.f, {.name = "total"}};
  Tensor before = total;                           // a value: it stays what it is
  total.assign_add(2.f).assign_sub(0.5f);
  print("before {}, now {}", before, total.value());
  Variable table{zeros({3, 2})};
  table(0, all).assign({1, 2});                    // a part of it
  table.scatter_add({2, 2}, 1.f);                  // a row that is named twice is changed twice
  print("table =\n{}", table.value());
  for (const WriteRecord& write : total.history()) print("  {}", write.str());

  heading("Many changes as one");
  Variable from{100.f}, to{0.f};
  const auto move = [&](float amount) {
    atomically([&] {
      from.assign_sub(amount);
      if (static_cast<bool>(from < 0)) throw std::runtime_error("not enough");
      to.assign_add(amount);
    });
  };
  move(30);
  try {
    move(80);
  } catch (const std::runtime_error& error) {
    print("80 more: {}; from {}, to {}", error.what(), from.value(), to.value());
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) atomically([&] { to.assign(to + 1.f); });
    });
  for (std::thread& thread : threads) thread.join();
  print("eight threads added 500 each: {}", to.value());
}

struct Dense {
  Variable weight, bias;
  Dense(int in, int out, Generator& random) : weight{glorot_uniform({in, out}, random)}, bias{zeros({out})} {}
  Tensor operator()(Tensor x) const { return matmul(x, weight) + bias; }
  WEFT_FIELDS(weight, bias)                        // only because this type has a constructor
};
struct Net {
  std::vector<Dense> layers;
  Tensor operator()(Tensor x) const { return layers[1](tanh(layers[0](x))); }
};

void train() {
  heading("Plain structs are modules");
  Generator random{7};
  Net net{{Dense(2, 16, random), Dense(16, 1, random)}};
  print("{}", summary(net));

  heading("A net learns a product");
  Tensor x = random.normal({256, 2}), y = x(all, range(0, 1)) * x(all, range(1, 2));
  Adam adam{{.learning_rate = 0.05f}};
  Snapshot first = snapshot(net);                  // one moment of all its Variables
  for (int step = 0; step <= 200; ++step) {
    GradientTape tape;                             // follows the Variables that are read
    Tensor loss = mean(square(net(x) - y));
    adam.apply(tape.gradient(loss, net), net);     // all of them change at one moment
    if (step == 150) adam.learning_rate.assign(0.01f);
    if (step % 50 == 0) print("step {:>3}  loss {:.5f}", step, loss);
  }
  print("output bias {} was {}", net.layers[1].bias.value(), first.at("layers.1.bias"));
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
  Variable counter{0, {.name = "counter"}};
  try {
    counter.assign(a);
  } catch (const DtypeError& error) {
    print("{}", error.what());
  }
  try {
    GradientTape tape;
    tape.gradient(counter * 2, counter);
  } catch (const GradientError& error) {
    print("{}", error.what());
  }
}

}  // namespace

int main() {
  tensors();
  gradients();
  fit();
  state();
  train();
  errors();
  return 0;
}
