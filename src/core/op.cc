#include "core/op.h"

#include <algorithm>

namespace weft::inline v0 {

std::string dtypes_text(DTypes set) {
  std::vector<std::string> names;
  for (int t = 0; t < kNumDTypes; ++t)
    if (set & bit(static_cast<DType>(t))) names.emplace_back(name_of(static_cast<DType>(t)));
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

Input::Input(const char* declaration) : name(declaration) {
  if (name.ends_with("...")) {
    list = true;
    name.remove_suffix(3);
  }
  const auto colon = name.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view word = name.substr(colon + 1);
  name = name.substr(0, colon);
  if (word == "index") type = Type::kIndex;
  else if (word == "int") type = Type::kInt;
  else if (word == "bool") type = Type::kBool;
  else if (word == "any") type = Type::kAny;
  else throw InternalError("a row declares an input of unknown type: " + std::string(declaration));
}

namespace {

std::string argument_name(const Op& op, std::size_t i) {
  const Input& input = input_of(op, i);
  std::string name(input.name);
  if (input.list) name += "[" + std::to_string(i - (op.inputs.size() - 1)) + "]";
  return name;
}

}  // namespace

const Attr& OpArgs::attr_spelled(std::string_view name) const {
  for (std::size_t i = 0; i < op.attrs.size(); ++i)
    if (op.attrs[i].name == name) return attrs[i];
  throw InternalError(std::string(op.name) + " reads an attribute its row does not declare: " + std::string(name));
}

void OpArgs::shape_error(const std::string& sentence) const { throw ShapeError(op.name, sentence, at); }
void OpArgs::dtype_error(const std::string& sentence) const { throw DtypeError(op.name, sentence, at); }
void OpArgs::index_error(const std::string& sentence) const { throw IndexError(op.name, sentence, at); }
void OpArgs::value_error(const std::string& sentence) const { throw ValueError(op.name, sentence, at); }

std::string Infer::name(std::size_t i) const { return argument_name(op, i); }
std::string Infer::named(std::size_t i) const { return name(i) + " " + specs[i]->str(); }
std::string KernelCall::name(std::size_t i) const { return argument_name(op, i); }

int Infer::axis(std::string_view attr_name, int rank) const {
  const std::int64_t given = integer(attr_name);
  if (given < -rank || given >= rank)
    index_error(std::string(attr_name) + " is " + std::to_string(given) + ", but " +
                (rank == 0 ? "a scalar has no axes" : "must be from " + std::to_string(-rank) + " to " + std::to_string(rank - 1)) +
                (count() > 0 ? " for " + named(0) : "") + ".");
  return static_cast<int>(given < 0 ? given + rank : given);
}

Ints Infer::axes(std::string_view attr_name, int rank) const {
  Ints result;
  if (!has(attr_name)) {
    for (int i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (std::int64_t given : ints(attr_name)) {
    if (given < -rank || given >= rank)
      index_error(std::string(attr_name) + " has " + std::to_string(given) + ", but " +
                  (rank == 0 ? "a scalar has no axes" : "must be from " + std::to_string(-rank) + " to " + std::to_string(rank - 1)) +
                  (count() > 0 ? " for " + named(0) : "") + ".");
    result.push_back(given < 0 ? given + rank : given);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    value_error(std::string(attr_name) + " names an axis twice; name each axis once.");
  return result;
}

void Infer::refuse_rank(std::size_t i, int wanted, const char* or_more) const {
  shape_error(named(i) + " has rank " + std::to_string(rank(i)) + "; rank " + std::to_string(wanted) + or_more + " is needed.");
}

void KernelCall::allocate(std::size_t i, Shape shape) {
  while (outputs.size() <= i) outputs.emplace_back();
  outputs[i] = make_tensor({specs[i].dtype, std::move(shape)});
}

std::string attr_text(const AttrDef& def, const Attr& value) {
  struct Text {
    const AttrDef& def;
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const {
      if (def.kind == AttrKind::kChoice && v >= 0 && v < static_cast<std::int64_t>(def.choices.size()))
        return def.choices[static_cast<std::size_t>(v)];
      return std::to_string(v);
    }
    std::string operator()(double v) const {
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", v);
      return text;
    }
    std::string operator()(DType v) const { return static_cast<int>(v) < kNumDTypes ? std::string(name_of(v)) : "dtype " + std::to_string(static_cast<int>(v)); }
    std::string operator()(const Ints& v) const {
      std::string text = "[";
      for (std::size_t i = 0; i < v.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(v[i]);
      return text + "]";
    }
    std::string operator()(const std::string& v) const { return '"' + v + '"'; }
    std::string operator()(const std::shared_ptr<const Region>&) const { return "{...}"; }
  };
  return std::visit(Text{def}, value);
}

}  // namespace weft::inline v0
