// The spelling of samples in rows: f32({2,3}), i32({4}).range(0, 3). Use inside namespace weft::rows, where these names hide
// the dtype constants.
#pragma once

#include "core/op.h"

namespace weft::inline v0::sample {

inline SampleInput f32(Shape shape) { return {.spec = {DType::f32, std::move(shape)}}; }
inline SampleInput i32(Shape shape) { return {.spec = {DType::i32, std::move(shape)}, .low = -9, .high = 9}; }
inline SampleInput i64(Shape shape) { return {.spec = {DType::i64, std::move(shape)}, .low = -9, .high = 9}; }
inline SampleInput u32(Shape shape) { return {.spec = {DType::u32, std::move(shape)}, .low = 0, .high = 9}; }
inline SampleInput u64(Shape shape) { return {.spec = {DType::u64, std::move(shape)}, .low = 0, .high = 9}; }
inline SampleInput boolean(Shape shape) { return {.spec = {DType::bool_, std::move(shape)}, .low = 0, .high = 1}; }

}  // namespace weft::inline v0::sample
