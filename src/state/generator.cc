#include <weft/random.h>

#include <cmath>
#include <random>

#include "core/apply.h"
#include "state/transaction.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

Variable state_at(Tensor state, Location at) { return Variable(std::move(state), {.name = "generator", .trainable = false}, at); }

Tensor seeded(std::int64_t seed) { return Tensor(std::vector<std::int64_t>{seed, 0, 0}); }

// Inputs and outputs of one position, times the number of positions.
struct Fans {
  double in = 1, out = 1;
  explicit Fans(const Shape& shape) {
    const int rank = shape.rank();
    if (rank == 1) in = out = static_cast<double>(shape.dim(0));
    if (rank < 2) return;
    in = static_cast<double>(shape.dim(rank - 2)), out = static_cast<double>(shape.dim(rank - 1));
    for (int axis = 0; axis < rank - 2; ++axis) in *= static_cast<double>(shape.dim(axis)), out *= static_cast<double>(shape.dim(axis));
  }
};

double spread(double variance_times_fan, double fan) { return std::sqrt(variance_times_fan / std::max(fan, 1.0)); }

Tensor uniform_of(double deviation, Shape shape, Generator& g, DType dtype, Location at) {
  const double limit = std::sqrt(3.0) * deviation;
  return g.uniform(std::move(shape), {.low = -limit, .high = limit, .dtype = dtype}, at);
}

Tensor normal_of(double deviation, Shape shape, Generator& g, DType dtype, Location at) {
  constexpr double kept = 0.87962566103423978;  // the deviation of a normal distribution that is cut off at 2
  return g.truncated_normal(std::move(shape), {.mean = 0, .stddev = deviation / kept, .dtype = dtype}, at);
}

}  // namespace

Generator::Generator(std::int64_t seed, Location at) : state(state_at(seeded(seed), at)) {}

Generator Generator::from_state(Tensor from, Location at) {
  random_skip(from, 0, at);  // says what is wrong with a state that is none
  return Generator(state_at(std::move(from), at));
}

Generator Generator::from_entropy(Location at) {
  std::random_device machine;
  const std::uint64_t key = (std::uint64_t{machine()} << 32) | machine();
  return from_state(Tensor(std::vector<std::int64_t>{0, 0, static_cast<std::int64_t>(key)}), at);
}

namespace {

// Reserves what a call for `shape` draws, then calls row(state, shape). What the row refuses, it refuses before anything is reserved.
template <class Row>
Tensor drawn(Variable& state, const Shape& shape, Location at, const Row& row) {
  {
    const Interpreter::Scope eager(nullptr);  // no tape and no trace needs the trial
    row(seeded(0), shape.known() ? Shape{0} : shape);
  }
  const std::int64_t count = shape.num_elements();
  Tensor from;
  update(state.slot(), [&](Tensor now) {
    from = now;
    return random_skip(std::move(now), count, at);
  }, at, "Generator");
  return row(std::move(from), shape);
}

}  // namespace

Tensor Generator::uniform(Shape shape, RandomUniformOptions options, Location at) {
  return drawn(state, shape, at, [&](Tensor from, const Shape& s) { return random_uniform(std::move(from), s, options, at); });
}
Tensor Generator::normal(Shape shape, RandomNormalOptions options, Location at) {
  return drawn(state, shape, at, [&](Tensor from, const Shape& s) { return random_normal(std::move(from), s, options, at); });
}
Tensor Generator::truncated_normal(Shape shape, RandomTruncatedNormalOptions options, Location at) {
  return drawn(state, shape, at, [&](Tensor from, const Shape& s) { return random_truncated_normal(std::move(from), s, options, at); });
}
Tensor Generator::integers(Shape shape, std::int64_t low, std::int64_t high, RandomIntegersOptions options, Location at) {
  return drawn(state, shape, at, [&](Tensor from, const Shape& s) { return random_integers(std::move(from), s, low, high, options, at); });
}
Tensor Generator::bits(Shape shape, RandomBitsOptions options, Location at) {
  return drawn(state, shape, at, [&](Tensor from, const Shape& s) { return random_bits(std::move(from), s, options, at); });
}

Tensor Generator::permutation(std::int64_t n, Location at) { return cast(argsort(bits({n}, {.dtype = u64}, at)), i64); }
Tensor Generator::shuffle(Tensor x, Location at) {
  if (x.rank() == 0) throw ShapeError("shuffle", "x " + x.spec().str() + " has no rows; give a tensor of rank 1 or more.", at);
  const std::int64_t rows = x.shape()[{0, at}];
  return gather(std::move(x), permutation(rows, at), {}, at);
}

std::vector<Generator> Generator::split(std::int64_t count, Location at) {
  if (count < 0) throw ValueError("split", "count is " + std::to_string(count) + "; it must be 0 or more.", at);
  std::vector<Generator> parts;
  for (const std::int64_t key : bits({count}, {.dtype = i64}, at).to_vector<std::int64_t>())
    parts.push_back(from_state(Tensor(std::vector<std::int64_t>{0, 0, key}), at));
  return parts;
}

void Generator::reset(std::int64_t seed, Location at) { state.assign(seeded(seed), at); }

Generator& default_generator() {
  static Generator& generator = *new Generator(Generator::from_entropy());  // never destroyed: threads may draw until the very end
  return generator;
}

void set_seed(std::int64_t seed, Location at) { default_generator().reset(seed, at); }

Tensor glorot_uniform(Shape shape, Generator& g, InitializerOptions options, Location at) {
  const Fans fans(shape);
  return uniform_of(spread(2, fans.in + fans.out), std::move(shape), g, options.dtype, at);
}
Tensor glorot_normal(Shape shape, Generator& g, InitializerOptions options, Location at) {
  const Fans fans(shape);
  return normal_of(spread(2, fans.in + fans.out), std::move(shape), g, options.dtype, at);
}
Tensor he_uniform(Shape shape, Generator& g, InitializerOptions options, Location at) {
  const double deviation = spread(2, Fans(shape).in);
  return uniform_of(deviation, std::move(shape), g, options.dtype, at);
}
Tensor he_normal(Shape shape, Generator& g, InitializerOptions options, Location at) {
  const double deviation = spread(2, Fans(shape).in);
  return normal_of(deviation, std::move(shape), g, options.dtype, at);
}
Tensor lecun_uniform(Shape shape, Generator& g, InitializerOptions options, Location at) {
  const double deviation = spread(1, Fans(shape).in);
  return uniform_of(deviation, std::move(shape), g, options.dtype, at);
}
Tensor lecun_normal(Shape shape, Generator& g, InitializerOptions options, Location at) {
  const double deviation = spread(1, Fans(shape).in);
  return normal_of(deviation, std::move(shape), g, options.dtype, at);
}

Tensor orthogonal(Shape shape, Generator& g, InitializerOptions options, Location at) {
  if (shape.rank() < 2) throw ShapeError("orthogonal", "shape " + shape.str() + " is no matrix; give two axes or more.", at);
  const std::int64_t columns = shape.dim(shape.rank() - 1), rows = columns == 0 ? 0 : shape.num_elements() / columns;
  const bool tall = rows >= columns;
  // With a^T a = l l^T the rows of l^-1 a^T are orthonormal, and no direction is preferred.
  const Tensor a = g.normal({std::max(rows, columns), std::min(rows, columns)}, {.mean = 0, .stddev = 1, .dtype = f64}, at);
  const Tensor turned = triangular_solve(cholesky(matmul(a, a, {.transpose_a = true})), transpose(a));
  return cast(reshape(tall ? transpose(turned) : turned, shape), options.dtype, at);
}

}  // namespace weft::inline v0
