// Choices that ops offer.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <string>
#include <vector>

#include <weft/axes.h>
#include <weft/tensor.h>

namespace weft::inline v0 {

enum class Indexing : std::uint8_t { kXy, kIj };
enum class PadMode : std::uint8_t { kConstant, kReflect, kSymmetric };
enum class Padding : std::uint8_t { kValid, kSame, kExplicit };
enum class ResizeMethod : std::uint8_t { kBilinear, kNearest };
enum class SearchSide : std::uint8_t { kLeft, kRight };
enum class SortDirection : std::uint8_t { kAscending, kDescending };

}  // namespace weft::inline v0
