// Creation and conversion.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/types.h>

namespace weft::inline v0 {

struct ZerosOptions { DType dtype = DType::f32; };
WEFT_API Tensor zeros(Shape shape, ZerosOptions options = {}, Location at = Location::here());  ///< A tensor of zeros.
struct OnesOptions { DType dtype = DType::f32; };
WEFT_API Tensor ones(Shape shape, OnesOptions options = {}, Location at = Location::here());  ///< A tensor of ones.
WEFT_API Tensor zeros_like(Tensor x, Location at = Location::here());  ///< Zeros of the shape and dtype of x.
WEFT_API Tensor ones_like(Tensor x, Location at = Location::here());  ///< Ones of the shape and dtype of x.
WEFT_API Tensor fill(Shape shape, Tensor value, Location at = Location::here());  ///< A tensor of the given shape whose elements all are value, a scalar.
struct EyeOptions { std::int64_t columns = -1; IntList batch_shape = {}; DType dtype = DType::f32; };
WEFT_API Tensor eye(std::int64_t rows, EyeOptions options = {}, Location at = Location::here());  ///< Ones on the main diagonal of a rows x columns matrix (columns = -1: square) and zeros elsewhere, for each of batch_shape.
WEFT_API Tensor linspace(Tensor start, Tensor stop, std::int64_t num, Location at = Location::here());  ///< num evenly spaced values from start to stop, both included, along a new first axis; start and stop have one shape.
WEFT_API Tensor arange(Tensor start, Tensor limit, Tensor delta, Location at = Location::here());  ///< start, start + delta, start + 2 delta, ... before limit, all scalars; a delta that is 0 or leads away from limit is a ValueError.
struct OneHotOptions { double on_value = 1.0; double off_value = 0.0; std::int64_t axis = -1; DType dtype = DType::f32; };
WEFT_API Tensor one_hot(Tensor indices, std::int64_t depth, OneHotOptions options = {}, Location at = Location::here());  ///< on_value where the position along the new axis of length depth is the index, off_value elsewhere; an index outside gives off_value only.
struct SequenceMaskOptions { DType dtype = DType::bool_; };
WEFT_API Tensor sequence_mask(Tensor lengths, std::int64_t maxlen, SequenceMaskOptions options = {}, Location at = Location::here());  ///< For each length, maxlen flags along a new last axis of which the first length are set.
WEFT_API std::vector<Tensor> broadcast_together(std::vector<Tensor> xs, Location at = Location::here());  ///< Repeats each of xs to the shape that they all broadcast to.
struct MeshgridOptions { Indexing indexing = Indexing::kXy; };
WEFT_API std::vector<Tensor> meshgrid(std::vector<Tensor> xs, MeshgridOptions options = {}, Location at = Location::here());  ///< The coordinates of a grid: y[i] repeats the vector (or scalar) x[i] along the axes of all others; with indexing xy the first two axes change places.
WEFT_API Tensor cast(Tensor x, DType dtype, Location at = Location::here());  ///< Converts to another dtype: floats truncate toward zero and saturate, NaN gives 0; integers wrap; bool is x != 0.

}  // namespace weft::inline v0
