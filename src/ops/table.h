// The table: all rows, family by family.
#pragma once

#include <string_view>
#include <vector>

#include "core/op.h"

namespace weft::inline v0 {

struct Family {
  const char* name;  // of the header: weft/ops/<name>.h
  const char* doc;
  std::vector<Op> rows;
};

/// Made at first use and never changed; thread-safe.
const std::vector<Family>& families();
/// A row by family and position in it; the generated functions call this.
const Op& row_at(std::size_t family, std::size_t position);
/// By name, or null.
const Op* find_row(std::string_view name);
std::size_t row_count();

/// The names in the order for which src/ops/generated/ was made. Rows in another order mean that ./scripts/generate must run.
extern const char* const kGeneratedNames[];
extern const std::size_t kGeneratedCount;

}  // namespace weft::inline v0
