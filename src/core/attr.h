// Attributes: the arguments of an op that are not tensors.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <weft/axes.h>
#include <weft/tensor.h>

namespace weft::inline v0 {

struct Region;  // of the layer above: graphs that a call runs

/// A value of an attribute. `std::monostate` is "none": the op's own default behaviour (all axes, the input's dtype).
/// Choices are stored as the position in AttrDef::choices; axes, shapes, pairs (flat) and lists as Ints.
using Attr = std::variant<std::monostate, bool, std::int64_t, double, DType, Ints, std::string, std::shared_ptr<const Region>>;
using AttrSpan = std::span<const Attr>;

enum class AttrKind : std::uint8_t { kFlag, kInteger, kReal, kDType, kList, kAxis, kAxes, kShape, kPairs, kChoice, kText, kRegion };

/// The declaration of one attribute. From it derive the parameter or option in ops.h, the docs entry and the checks.
struct AttrDef {
  const char* name;
  AttrKind kind;
  bool required = true;     // a positional parameter; otherwise a member of the options struct
  Attr fallback{};          // the default of an optional one
  bool optional = false;    // "none" is allowed (and is the default)
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  const char* type = "";               // the enum's name, of kChoice
  std::vector<const char*> choices{};  // its values, of kChoice

  AttrDef between(double lo, double hi) && { return low = lo, high = hi, std::move(*this); }
  AttrDef at_least(double lo) && { return low = lo, std::move(*this); }
};

/// How rows declare attributes: `attr::flag("keepdims", false)`; without a default the attribute is required.
namespace attr {

inline AttrDef make(const char* name, AttrKind kind) { return {.name = name, .kind = kind}; }
inline AttrDef make(const char* name, AttrKind kind, Attr fallback) {
  return {.name = name, .kind = kind, .required = false, .fallback = std::move(fallback)};
}
inline AttrDef flag(const char* name, bool fallback) { return make(name, AttrKind::kFlag, fallback); }
inline AttrDef integer(const char* name) { return make(name, AttrKind::kInteger); }
inline AttrDef integer(const char* name, std::int64_t fallback) { return make(name, AttrKind::kInteger, fallback); }
inline AttrDef real(const char* name) { return make(name, AttrKind::kReal); }
inline AttrDef real(const char* name, double fallback) { return make(name, AttrKind::kReal, fallback); }
inline AttrDef dtype(const char* name) { return make(name, AttrKind::kDType); }
inline AttrDef dtype(const char* name, DType fallback) { return make(name, AttrKind::kDType, fallback); }
/// One axis of the first input; checked and counted from the end by Infer::axis.
inline AttrDef axis(const char* name) { return make(name, AttrKind::kAxis); }
inline AttrDef axis(const char* name, std::int64_t fallback) { return make(name, AttrKind::kAxis, fallback); }
/// A list of axes; left out it is "none".
inline AttrDef axes(const char* name) {
  return {.name = name, .kind = AttrKind::kAxes, .required = false, .fallback = {}, .optional = true};
}
inline AttrDef required_axes(const char* name) { return make(name, AttrKind::kAxes); }
inline AttrDef list(const char* name) { return make(name, AttrKind::kList); }
inline AttrDef list(const char* name, Ints fallback) { return make(name, AttrKind::kList, std::move(fallback)); }
inline AttrDef shape(const char* name) { return make(name, AttrKind::kShape); }
inline AttrDef pairs(const char* name) { return make(name, AttrKind::kPairs); }
inline AttrDef pairs_or_none(const char* name) { return make(name, AttrKind::kPairs, Ints{}); }
inline AttrDef region(const char* name) { return make(name, AttrKind::kRegion); }
inline AttrDef text(const char* name) { return make(name, AttrKind::kText); }
inline AttrDef choice(const char* type, const char* name, std::vector<const char*> choices, std::int64_t fallback = 0) {
  AttrDef def = make(name, AttrKind::kChoice, fallback);
  def.type = type;
  def.choices = std::move(choices);
  return def;
}

}  // namespace attr

/// "3", "[1,2]", "reflect": how graphs, errors and docs show a value.
std::string attr_text(const AttrDef& def, const Attr& value);

// From the public argument types to Attr; the generated functions use these.
inline Attr to_attr(bool v) { return v; }
inline Attr to_attr(std::int64_t v) { return v; }
inline Attr to_attr(double v) { return v; }
inline Attr to_attr(DType v) { return v; }
inline Attr to_attr(std::string v) { return v; }
inline Attr to_attr(IntList v) { return std::move(v.values); }
inline Attr to_attr(Axes v) { return v ? Attr(std::move(v->values)) : Attr(); }
inline Attr to_attr(const Shape& v) { return Ints(v.begin(), v.end()); }
inline Attr to_attr(Pairs v) { return std::move(v.values); }
template <class E>
  requires std::is_enum_v<E>
Attr to_attr(E v) {
  return static_cast<std::int64_t>(v);
}

}  // namespace weft::inline v0
