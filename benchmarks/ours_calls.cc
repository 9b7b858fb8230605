// Single calls, state, and what tracing costs.
#include <algorithm>
#include <memory>
#include <thread>

#include "ours.h"

namespace ours {

// A tape in real use holds hundreds of records, not millions: each one lives for up to 1,000 adds.
Workload recorded_add(const Tensors& x) {
  return {[x](long count) {
            for (long done = 0; done < count; done += 1000) {
              GradientTape tape;
              tape.watch(x[0]);
              for (long i = done; i < std::min(done + 1000, count); ++i) bench::keep(x[0] + x[1]);
            }
          },
          [x] { return results(x[0] + x[1]); }};
}

Workload read_variable(const Tensors& x) {
  const Variable v(x[0]);
  return {[v](long count) {
            for (long i = 0; i < count; ++i) bench::keep(v.value());
          },
          [v] { return results(v.value()); }};
}

namespace {

// Adds 1 to the variable `count` times, in equal parts by some threads.
void add_ones(const Variable& variable, long count, int threads) {
  auto add = [v = variable](long times) mutable {
    for (long i = 0; i < times; ++i) v.assign_add(1.f);
  };
  if (threads == 1) return add(count);
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(add, count * (t + 1) / threads - count * t / threads);
}

}  // namespace

Op assign_add(int threads) {
  return [threads](const Tensors& x) -> Workload {
    return {[v = Variable(identity(x[0])), threads](long count) { add_ones(v, count, threads); },
            [x, threads] {
              const Variable v(identity(x[0]));
              add_ones(v, 800, threads);
              return results(v.value());
            }};
  };
}

namespace {

// Calls of a Function of the first input, which has been traced before.
Workload calls(Function<Tensor(Tensor)> f, const Tensor& x) {
  return {[f, x](long count) {
            for (long i = 0; i < count; ++i) bench::keep(f(x));
          },
          [f, x] { return results(f(x)); }};
}

}  // namespace

Workload traced_assign_add(const Tensors& x) {
  struct Adding {
    explicit Adding(const Tensor& start) : total(identity(start)) {}
    Variable total;
    Function<void(Tensor)> add = [this](Tensor value) { total.assign_add(value); };
  };
  return {[adding = std::make_shared<Adding>(x[0]), one = ones({})](long count) {
            for (long i = 0; i < count; ++i) adding->add(one);
          },
          [x] {
            Adding adding(x[0]);
            for (int i = 0; i < 800; ++i) adding.add(ones({}));
            return results(adding.total.value());
          }};
}

namespace {

// `count` multiplications and additions, each of what the one before gave.
Tensor chain(const Tensor& x, std::int64_t count) {
  Tensor y = x;
  for (std::int64_t i = 0; i < count; ++i) y = i % 2 == 0 ? y * x : y + x;
  return y;
}

// The sum of x / count, 2 x / count and so on as a tree of `count` calls.
Tensor tree(const Tensor& x, std::int64_t count) {
  Tensors row;
  for (std::int64_t i = 0; i < count / 2 + 1; ++i) row.push_back(x * (static_cast<float>(i) / static_cast<float>(count)));
  while (row.size() > 1) {
    Tensors above;
    for (std::size_t i = 0; i + 1 < row.size(); i += 2) above.push_back(row[i] + row[i + 1]);
    if (row.size() % 2 == 1) above.push_back(row.back());
    row = std::move(above);
  }
  return row[0];
}

// A new Function of one scalar and its first call. The program has as many calls as the second input has elements.
template <Tensor (*program)(const Tensor&, std::int64_t)>
Workload first_call(const Tensors& x) {
  const auto call = [scalar = x[0], count = x[1].size()] {
    const Function f = [count](Tensor value) { return program(value, count); };
    return f(scalar);
  };
  return {[call](long count) {
            for (long i = 0; i < count; ++i) bench::keep(call());
          },
          [call] { return results(call()); }};
}

}  // namespace

Workload traced_identity(const Tensors& x) {
  return calls([](Tensor y) { return y; }, x[0]);
}
Workload traced_chain(const Tensors& x) {
  return calls([](Tensor y) { return chain(y, 10); }, x[0]);
}
Workload first_call_of_chain(const Tensors& x) { return first_call<chain>(x); }
Workload first_call_of_tree(const Tensors& x) { return first_call<tree>(x); }

// The first input plus all others: Variables that a Function has captured, or (the same kernels) the input itself as often.
Op traced_sum(bool of_variables) {
  return [of_variables](const Tensors& x) {
    const std::vector<Variable> others(x.begin() + 1, x.end());
    return calls([others, of_variables](Tensor y) {
      const Tensor first = y;
      for (const Variable& other : others) y = of_variables ? y + other : y + first;
      return y;
    }, x[0]);
  };
}

namespace {

template <class Tree>
Workload snapshots(const Tree& tree) {
  return {[tree](long count) {
            for (long i = 0; i < count; ++i) bench::keep(snapshot(tree));
          },
          [tree] {
            const Snapshot now = snapshot(tree);
            return results(Tensors(now.values().begin(), now.values().end()));
          }};
}

struct Pair {
  Dense first, second;
};
struct Pairs {
  std::vector<Pair> pairs;
};

}  // namespace

Workload snapshot_of_list(const Tensors& x) { return snapshots(std::vector<Variable>(x.begin(), x.end())); }
Workload snapshot_of_tree(const Tensors& x) {
  Pairs tree;
  for (std::size_t i = 0; i + 4 <= x.size(); i += 4)
    tree.pairs.push_back({{Variable(x[i]), Variable(x[i + 1])}, {Variable(x[i + 2]), Variable(x[i + 3])}});
  return snapshots(tree);
}

// 100,000 turns of a loop over two scalars, as one call.
Workload while_turns(const Tensors& x) {
  const Function<Tensor(Tensor)> f = [](Tensor start) {
    return std::get<1>(while_loop([](Tensor turn, Tensor) { return turn < 100'000; },
                                  [](Tensor turn, Tensor value) { return std::tuple{turn + 1, value * 0.9999f}; }, std::tuple{0, start}));
  };
  return calls(f, x[0]);
}

// Of tanh(tanh(x w1) w2), for each entry of the batch: inputs x, w1, w2.
Workload batch_jacobian(const Tensors& x) {
  const Function<Tensor(Tensor, Tensor, Tensor)> f = [](Tensor in, Tensor w1, Tensor w2) {
    GradientTape tape;
    tape.watch(in);
    const Tensor out = tanh(matmul(tanh(matmul(in, w1)), w2));
    return tape.batch_jacobian(out, in);
  };
  return {[f, x](long count) {
            for (long i = 0; i < count; ++i) bench::keep(f(x[0], x[1], x[2]));
          },
          [f, x] { return results(f(x[0], x[1], x[2])); }};
}

Workload traced_expression(const Tensors& x) {
  const Function<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor)> f{
      [](Tensor a, Tensor b, Tensor c, Tensor y, Tensor z) { return relu(a * y + b) * y + c * z; }, function_options()};
  return {[f, x](long count) {
            for (long i = 0; i < count; ++i) bench::keep(f(x[0], x[1], x[2], x[3], x[4]));
          },
          [f, x] { return results(f(x[0], x[1], x[2], x[3], x[4])); }};
}

}  // namespace ours
