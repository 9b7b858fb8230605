// Sizes that come from attributes and may hold any 64-bit number: checks that the shape and slice rows share.
#pragma once

#include "base/checked.h"
#include "core/infer.h"

namespace weft::inline v0::rows {

inline constexpr std::int64_t kMaxParts = 1 << 20;  // tensors that one call may return

/// Whether the bytes of so many elements fit 63 bits; of those sizes that are more than zero: [0, 2^62, 4] must not become valid by reordering its axes.
inline bool bytes_fit(DType dtype, std::span<const std::int64_t> sizes) {
  auto bytes = std::optional(static_cast<std::int64_t>(size_of(dtype)));
  for (std::int64_t size : sizes)
    if (bytes && size > 0) bytes = checked_mul(*bytes, size);
  return bytes.has_value();
}

/// The sizes as a Shape of input 0's dtype. Throws ShapeError if they are too many, or if the bytes of the known ones do not fit 63 bits.
inline Shape shape_of(const Infer& in, const Ints& sizes) {
  if (sizes.size() > static_cast<std::size_t>(kMaxRank))
    in.shape_error("the result would have rank " + std::to_string(sizes.size()) + "; at most " + std::to_string(kMaxRank) +
        " axes are possible.");
  const Shape shape(sizes);
  if (!bytes_fit(in.dtype(0), sizes)) in.shape_error("the result would be " + Spec{in.dtype(0), shape}.str() +
      ", whose bytes do not fit 63 bits; use smaller shapes.");
  return shape;
}

/// One position of a list of axes, which may count from the end, as an axis in [0, rank). Throws IndexError.
inline int axis_in(const Infer& in, const char* attr_name, std::int64_t given, int rank) {
  if (given < -rank || given >= rank)
    in.index_error(std::string(attr_name) + " has " + std::to_string(given) + ", but " +
                   (rank == 0 ? "a scalar has no axes" : "must be from " + std::to_string(-rank) + " to " + std::to_string(rank - 1)) +
                   (in.count() > 0 ? " for " + in.named(0) : "") + ".");
  return static_cast<int>(given < 0 ? given + rank : given);
}

/// The pairs before, after of an attribute; there must be `wanted` of them, none negative.
inline const Ints& amounts(const Infer& in, const char* attr_name, std::size_t wanted) {
  const Ints& pairs = in.ints(attr_name);
  if (pairs.size() != 2 * wanted)
    in.shape_error(std::string(attr_name) + " has " + std::to_string(pairs.size() / 2) + " pairs; " + std::to_string(wanted) +
        " are needed, one for each axis.");
  for (std::int64_t amount : pairs)
    if (amount < 0) in.shape_error(std::string(attr_name) + " has " + std::to_string(amount) + "; amounts must be 0 or more.");
  return pairs;
}

inline Pairs pairs_of(const Ints& flat) {
  Pairs pairs;
  pairs.values = flat;
  return pairs;
}

/// What a kernel asks for axes and amounts with: its sizes have passed `.infer` already.
inline Infer checked(const OpArgs& call) { return {call, {}}; }

}  // namespace weft::inline v0::rows
