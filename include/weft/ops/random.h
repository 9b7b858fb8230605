// Random numbers from a key and a counter.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct RandomBitsOptions { DType dtype = DType::u32; };
WEFT_API Tensor random_bits(Tensor state, Shape shape, RandomBitsOptions options = {}, Location at = Location::here());  ///< Random integers over the whole range of an integer dtype, drawn at a generator state: 32-bit words of Philox 4x32-10, two for 64 bits.
struct RandomUniformOptions { double low = 0.0; double high = 1.0; DType dtype = DType::f32; };
WEFT_API Tensor random_uniform(Tensor state, Shape shape, RandomUniformOptions options = {}, Location at = Location::here());  ///< Floats evenly distributed over low <= y < high, drawn at a generator state.
struct RandomNormalOptions { double mean = 0.0; double stddev = 1.0; DType dtype = DType::f32; };
WEFT_API Tensor random_normal(Tensor state, Shape shape, RandomNormalOptions options = {}, Location at = Location::here());  ///< Normally distributed floats of the given mean and standard deviation, drawn at a generator state.
struct RandomTruncatedNormalOptions { double mean = 0.0; double stddev = 1.0; DType dtype = DType::f32; };
WEFT_API Tensor random_truncated_normal(Tensor state, Shape shape, RandomTruncatedNormalOptions options = {}, Location at = Location::here());  ///< Normally distributed floats that lie within two standard deviations of the mean, drawn at a generator state.
struct RandomIntegersOptions { DType dtype = DType::i32; };
WEFT_API Tensor random_integers(Tensor state, Shape shape, std::int64_t low, std::int64_t high, RandomIntegersOptions options = {}, Location at = Location::here());  ///< Integers from low up to, but not including, high, drawn at a generator state. Each is as likely as any other up to range / 2^32 (2^64 for 64-bit dtypes).
WEFT_API Tensor random_skip(Tensor state, std::int64_t count, Location at = Location::here());  ///< The generator state after `count` values of any distribution have been drawn at `state`; each reserves 256 blocks of the stream.
WEFT_API Tensor stateless_state(Tensor seed, Location at = Location::here());  ///< The generator state that belongs to a pair of seeds: what TensorFlow's stateless_random ops draw from.

}  // namespace weft::inline v0
