// Random numbers: a Generator is a Variable that says where in its stream it is.
//
//   Generator random{42};
//   Tensor x = random.normal({3, 4});
//   Variable weight{glorot_uniform({784, 10}, random)};
//
// The stream is TensorFlow's Philox stream of the same seed. Each call reserves its part of it at one moment: threads that share a
// generator get distinct numbers, and a call inside `atomically` that is undone is drawn again. The state is a tree of one Variable: save
// it to go on later.
//
// Thread safety: any number of threads may draw. Ownership: like Variables, copies share the state; split() makes new ones.
#pragma once

#include <vector>

#include <weft/ops/random.h>
#include <weft/reflect.h>
#include <weft/variable.h>

namespace weft::inline v0 {

class WEFT_API Generator {
 public:
  explicit Generator(std::int64_t seed, Location at = Location::here());
  /// Goes on at a state: i64[3], the counter's low and high half, and the key. Throws ShapeError, DtypeError.
  static Generator from_state(Tensor state, Location at = Location::here());
  /// Seeded by the machine: another stream in each process.
  static Generator from_entropy(Location at = Location::here());

  Tensor uniform(Shape shape, RandomUniformOptions options = {}, Location at = Location::here());
  Tensor normal(Shape shape, RandomNormalOptions options = {}, Location at = Location::here());
  Tensor truncated_normal(Shape shape, RandomTruncatedNormalOptions options = {}, Location at = Location::here());
  Tensor integers(Shape shape, std::int64_t low, std::int64_t high, RandomIntegersOptions options = {}, Location at = Location::here());
  Tensor bits(Shape shape, RandomBitsOptions options = {}, Location at = Location::here());
  Tensor permutation(std::int64_t n, Location at = Location::here());  ///< 0 ... n-1 in random order, i64[n]
  Tensor shuffle(Tensor x, Location at = Location::here());            ///< the rows of x in random order

  /// Generators with streams of their own, which depend on this one's state.
  std::vector<Generator> split(std::int64_t count, Location at = Location::here());
  void reset(std::int64_t seed, Location at = Location::here());  ///< as if made with this seed

  Variable state;

 private:
  explicit Generator(Variable at) : state(std::move(at)) {}
  WEFT_FIELDS(state)
};

/// The generator that is used where none is given. Starts from entropy. Assigning another one to it, while nobody draws, leaves traces
/// that have drawn from it with the old one; set_seed reaches them.
WEFT_API Generator& default_generator();
/// Resets the default generator.
WEFT_API void set_seed(std::int64_t seed, Location at = Location::here());

/// Initial values of weights. The last two axes are a matrix from inputs to outputs, those before them positions of a filter; the standard
/// deviation is the root of 2 / (inputs + outputs) for glorot, 2 / inputs for he and 1 / inputs for lecun. Normal ones are cut off at twice
/// that.
struct InitializerOptions {
  DType dtype = f32;
};
WEFT_API Tensor glorot_uniform(Shape shape, Generator& g = default_generator(), InitializerOptions options = {},
                               Location at = Location::here());
WEFT_API Tensor glorot_normal(Shape shape, Generator& g = default_generator(), InitializerOptions options = {},
                              Location at = Location::here());
WEFT_API Tensor he_uniform(Shape shape, Generator& g = default_generator(), InitializerOptions options = {},
                           Location at = Location::here());
WEFT_API Tensor he_normal(Shape shape, Generator& g = default_generator(), InitializerOptions options = {}, Location at = Location::here());
WEFT_API Tensor lecun_uniform(Shape shape, Generator& g = default_generator(), InitializerOptions options = {},
                              Location at = Location::here());
WEFT_API Tensor lecun_normal(Shape shape, Generator& g = default_generator(), InitializerOptions options = {},
                             Location at = Location::here());
/// A random matrix (all axes but the last are its rows) whose rows or columns, whichever are fewer, are orthonormal. Throws ShapeError
/// below rank 2.
WEFT_API Tensor orthogonal(Shape shape, Generator& g = default_generator(), InitializerOptions options = {},
                           Location at = Location::here());

}  // namespace weft::inline v0
