// Derived from the op table by ./scripts/generate; do not edit.
#include <weft/ops/random.h>

#include "core/apply.h"
#include "ops/table.h"

namespace weft::inline v0 {

Tensor random_bits(Tensor state, Shape shape, RandomBitsOptions options, Location at) {
  static const Op& row = row_at(16, 0);
  Tensor inputs[] = {std::move(state)};
  const Attr attrs[] = {to_attr(shape), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor random_uniform(Tensor state, Shape shape, RandomUniformOptions options, Location at) {
  static const Op& row = row_at(16, 1);
  Tensor inputs[] = {std::move(state)};
  const Attr attrs[] = {to_attr(shape), to_attr(options.low), to_attr(options.high), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor random_normal(Tensor state, Shape shape, RandomNormalOptions options, Location at) {
  static const Op& row = row_at(16, 2);
  Tensor inputs[] = {std::move(state)};
  const Attr attrs[] = {to_attr(shape), to_attr(options.mean), to_attr(options.stddev), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor random_truncated_normal(Tensor state, Shape shape, RandomTruncatedNormalOptions options, Location at) {
  static const Op& row = row_at(16, 3);
  Tensor inputs[] = {std::move(state)};
  const Attr attrs[] = {to_attr(shape), to_attr(options.mean), to_attr(options.stddev), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor random_integers(Tensor state, Shape shape, std::int64_t low, std::int64_t high, RandomIntegersOptions options, Location at) {
  static const Op& row = row_at(16, 4);
  Tensor inputs[] = {std::move(state)};
  const Attr attrs[] = {to_attr(shape), to_attr(low), to_attr(high), to_attr(options.dtype)};
  return apply_one(row, inputs, attrs, at);
}

Tensor random_skip(Tensor state, std::int64_t count, Location at) {
  static const Op& row = row_at(16, 5);
  Tensor inputs[] = {std::move(state)};
  const Attr attrs[] = {to_attr(count)};
  return apply_one(row, inputs, attrs, at);
}

Tensor stateless_state(Tensor seed, Location at) {
  static const Op& row = row_at(16, 6);
  Tensor inputs[] = {std::move(seed)};
  const AttrSpan attrs;
  return apply_one(row, inputs, attrs, at);
}

}  // namespace weft::inline v0
