#include "tests/golden_bind.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/apply.h"

namespace weft::golden {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Spelling read_spelling(std::string_view text, const Family& family, const Op& op) {
  const auto open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')'))
    throw std::runtime_error(std::string(op.name) + ": .tf is not of the form tf.f(x, kw=name): " + std::string(text));
  Spelling result{canonical(text.substr(0, open)), {}, &family, &op};
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  while (!trim(inside).empty()) {
    const auto comma = std::min(inside.find(','), inside.size());
    std::string_view word = trim(inside.substr(0, comma));
    inside.remove_prefix(std::min(comma + 1, inside.size()));
    Spelling::Parameter parameter;
    if (word.starts_with('*')) parameter.rest = true, word.remove_prefix(1);
    if (word.ends_with("...")) parameter.rest = true, word.remove_suffix(3);
    const auto equals = word.find('=');
    parameter.keyword = trim(word.substr(0, equals));
    parameter.name = trim(equals == std::string_view::npos ? word : word.substr(equals + 1));
    result.parameters.push_back(std::move(parameter));
  }
  return result;
}

DType dtype_named(std::string_view name) {
  static const std::map<std::string, DType, std::less<>> names = {
      {"float32", f32}, {"float64", f64}, {"float16", f16}, {"bfloat16", bf16}, {"int8", i8},     {"int16", i16},  {"int32", i32},
      {"int64", i64},   {"uint8", u8},    {"uint16", u16},  {"uint32", u32},    {"uint64", u64}, {"bool", bool_}};
  const auto found = names.find(name);
  if (found == names.end()) throw Unbound("nothing is called tf." + std::string(name));
  return found->second;
}

bool flatten_ints(const Value& value, Ints& flat) {
  if (const auto* one = value.as<std::int64_t>()) return flat.push_back(*one), true;
  const auto* list = value.as<Values>();
  return list != nullptr && std::all_of(list->begin(), list->end(), [&](const Value& v) { return flatten_ints(v, flat); });
}

bool flatten_numbers(const Value& value, Ints& sizes, std::size_t depth, std::vector<double>& flat, bool& real) {
  if (const auto* list = value.as<Values>()) {
    if (depth == sizes.size()) sizes.push_back(static_cast<std::int64_t>(list->size()));
    return std::all_of(list->begin(), list->end(), [&](const Value& v) { return flatten_numbers(v, sizes, depth + 1, flat, real); });
  }
  if (const auto* integer = value.as<std::int64_t>()) return flat.push_back(static_cast<double>(*integer)), true;
  if (const auto* number = value.as<double>()) return real = true, flat.push_back(*number), true;
  return false;
}

// A number becomes a literal, which takes the dtype of the tensors beside it; a list becomes a tensor.
std::optional<Tensor> tensor_from(const Value& value) {
  if (const auto* tensor = value.as<Tensor>()) return *tensor;
  if (const auto* flag = value.as<bool>()) return Tensor(*flag);
  if (const auto* integer = value.as<std::int64_t>()) return Tensor(*integer);
  if (const auto* number = value.as<double>()) return Tensor(*number);
  Ints sizes;
  std::vector<double> flat;
  bool real = false;
  if (!flatten_numbers(value, sizes, 0, flat, real)) return std::nullopt;
  if (real) return Tensor(std::vector<float>(flat.begin(), flat.end()), Shape(sizes));
  return Tensor(std::vector<std::int32_t>(flat.begin(), flat.end()), Shape(sizes));
}

/// One attempt to give a row the arguments of a call. `why` says what stood in the way.
class Binding {
 public:
  Binding(const Spelling& spelling, Values positional, std::vector<std::pair<std::string, Value>> keywords) : op_(*spelling.op) {
    ok_ = place(spelling, std::move(positional), std::move(keywords)) && bind_inputs() && bind_attrs();
  }

  bool ok() const { return ok_; }
  int cost() const { return cost_; }  // conversions made; the row that needs the fewest fits best
  const std::string& why() const { return why_; }

  Tensors call() {
    std::vector<Tensor> inputs = std::move(inputs_);  // literals must have one owner to count as such
    Tensors outputs;
    apply({op_, inputs, attrs_, Location::here()}, outputs);
    return outputs;
  }

 private:
  bool fail(const std::string& why) { return why_ = why, false; }

  bool place(const Spelling& spelling, Values positional, std::vector<std::pair<std::string, Value>> keywords) {
    const auto& parameters = spelling.parameters;
    std::size_t at = 0;
    for (std::size_t p = 0; p < parameters.size() && at < positional.size(); ++p) {
      const bool is_list = op_.list_input() && op_.inputs.back().name == parameters[p].name;
      if (parameters[p].rest || (is_list && positional[at].as<Tensor>())) {
        given_[parameters[p].name] = Values(positional.begin() + static_cast<std::ptrdiff_t>(at), positional.end());
        at = positional.size();
      } else {
        given_[parameters[p].name] = std::move(positional[at++]);
      }
    }
    if (at < positional.size()) return fail("too many positional arguments");
    for (auto& [keyword, value] : keywords) {
      const auto match = std::find_if(parameters.begin(), parameters.end(), [&word = keyword](const auto& p) { return p.keyword == word; });
      if (match == parameters.end()) return fail("no parameter " + keyword);
      given_[match->name] = std::move(value);
    }
    given_.erase("_");
    for (const auto& [name, value] : given_) {
      const bool known = std::any_of(op_.inputs.begin(), op_.inputs.end(), [&word = name](const Input& i) { return i.name == word; }) ||
                         std::any_of(op_.attrs.begin(), op_.attrs.end(), [&word = name](const AttrDef& d) { return d.name == word; });
      if (!known) return fail(".tf names `" + name + "`, which the row does not declare");
    }
    return true;
  }

  bool bind_inputs() {
    for (const Input& input : op_.inputs) {
      const auto found = given_.find(std::string(input.name));
      if (found == given_.end()) return fail("no value for input " + std::string(input.name));
      const Values one = {found->second};
      const Values* values = input.list ? found->second.as<Values>() : &one;
      if (values == nullptr) return fail("input " + std::string(input.name) + " needs a list");
      for (const Value& value : *values) {
        std::optional<Tensor> tensor = tensor_from(value);
        if (!tensor) return fail("input " + std::string(input.name) + " cannot be made a tensor");
        if (!value.as<Tensor>()) ++cost_;
        inputs_.push_back(std::move(*tensor));
      }
    }
    return true;
  }

  bool bind_attrs() {
    for (const AttrDef& def : op_.attrs) {
      const auto found = given_.find(def.name);
      if (found == given_.end() || found->second.as<std::monostate>()) {
        if (def.required) return fail(std::string("no value for attribute ") + def.name);
        attrs_.push_back(def.fallback);
        continue;
      }
      std::optional<Attr> value = convert(def, found->second);
      if (!value) return fail(std::string("attribute ") + def.name + " cannot take its value");
      attrs_.push_back(std::move(*value));
    }
    return pads_.empty() || set_pads();
  }

  std::optional<Attr> convert(const AttrDef& def, const Value& value) {
    const auto* integer = value.as<std::int64_t>();
    const auto* text = value.as<std::string>();
    switch (def.kind) {
      case AttrKind::kFlag:
        if (const auto* flag = value.as<bool>()) return *flag;
        if (text) return ++cost_, lower(*text) == lower(def.name);  // direction='DESCENDING' for a flag `descending`
        return {};
      case AttrKind::kInteger:
      case AttrKind::kAxis:
        if (integer) return *integer;
        return {};
      case AttrKind::kReal:
        if (integer) return static_cast<double>(*integer);
        if (const auto* real = value.as<double>()) return *real;
        return {};
      case AttrKind::kDType:
        if (const auto* dtype = value.as<DType>()) return *dtype;
        return {};
      case AttrKind::kText:
        if (text) return *text;
        return {};
      case AttrKind::kRegion: return {};
      case AttrKind::kChoice: return choice(def, value);
      case AttrKind::kList:
      case AttrKind::kAxes:
      case AttrKind::kShape:
      case AttrKind::kPairs: {
        Ints flat;
        if (integer) ++cost_;
        if (!flatten_ints(value, flat)) return {};
        return spatial(def.name, std::move(flat));
      }
    }
    return {};
  }

  std::optional<Attr> choice(const AttrDef& def, const Value& value) {
    const auto* text = value.as<std::string>();
    Ints pads;
    for (std::size_t i = 0; i < def.choices.size(); ++i) {
      if (text && lower(*text) == lower(def.choices[i])) return static_cast<std::int64_t>(i);
      if (lower(def.choices[i]) == "explicit" && value.as<Values>() && flatten_ints(value, pads)) {
        pads_ = pads;
        return static_cast<std::int64_t>(i);
      }
    }
    return {};
  }

  // TensorFlow counts batch and channels in strides, windows and dilations; Weft's lists are spatial.
  Ints spatial(std::string_view name, Ints list) const {
    static constexpr std::string_view names[] = {"strides", "dilations", "ksize", "window", "rates"};
    const int rank = inputs_.empty() ? 0 : inputs_[0].rank();
    const bool windowed = std::any_of(op_.attrs.begin(), op_.attrs.end(), [](const AttrDef& def) { return def.type == std::string_view("Padding"); });
    if (!windowed || std::find(std::begin(names), std::end(names), name) == std::end(names)) return list;
    if (rank < 3 || list.size() != static_cast<std::size_t>(rank)) return list;
    return Ints(list.begin() + 1, list.end() - 1);
  }

  bool set_pads() {
    for (std::size_t i = 0; i < op_.attrs.size(); ++i) {
      if (op_.attrs[i].kind != AttrKind::kPairs) continue;
      const bool whole = pads_.size() == 2 * static_cast<std::size_t>(inputs_[0].rank());  // with batch and channels
      attrs_[i] = whole ? Ints(pads_.begin() + 2, pads_.end() - 2) : pads_;
      return true;
    }
    return fail("no attribute for explicit padding");
  }

  const Op& op_;
  std::map<std::string, Value> given_;
  std::vector<Tensor> inputs_;
  std::vector<Attr> attrs_;
  Ints pads_;
  int cost_ = 0;
  bool ok_ = false;
  std::string why_;
};

Value result_of(const Op& op, Tensors outputs) {
  if (outputs.size() == 1 && !op.list_output()) return outputs[0];
  Values list;
  for (Tensor& output : outputs) list.emplace_back(std::move(output));
  return list;
}

Value call(const std::string& function, Values positional, std::vector<std::pair<std::string, Value>> keywords) {
  const std::vector<Spelling> candidates = rows_for(function);
  if (candidates.empty()) throw Unbound(function + " is missing: no row names it in .tf");
  std::optional<Binding> best;
  const Op* op = nullptr;
  std::string why;
  for (const Spelling& spelling : candidates) {
    Binding binding(spelling, positional, keywords);
    if (!binding.ok()) why += std::string("; ") + spelling.op->name + ": " + binding.why();
    else if (!best || binding.cost() < best->cost()) best.emplace(std::move(binding)), op = spelling.op;
  }
  if (!best) throw Unbound(function + " has rows, but none takes these arguments" + why);
  positional.clear();
  keywords.clear();
  return result_of(*op, best->call());
}

std::optional<std::int64_t> bound_of(const Value& value) {
  if (const auto* integer = value.as<std::int64_t>()) return *integer;
  return std::nullopt;
}

Index index_of(const Expr& expr, const Variables& variables) {
  if (expr.kind == Expr::Kind::kEllipsis) return ellipsis;
  if (expr.kind == Expr::Kind::kNone) return newaxis;
  if (expr.kind == Expr::Kind::kSlice) {
    std::optional<std::int64_t> bounds[3];
    for (std::size_t i = 0; i < 3; ++i) bounds[i] = bound_of(evaluate(expr.parts[i], variables));
    if (!bounds[0] && !bounds[1] && !bounds[2]) return all;
    return range(bounds[0], bounds[1], bounds[2].value_or(1));
  }
  const Value value = evaluate(expr, variables);
  if (value.as<NewAxis>()) return newaxis;
  if (const auto position = bound_of(value)) return *position;
  throw Unbound("an index that is neither a number nor a slice");
}

}  // namespace

std::string canonical(std::string_view function) {
  for (std::string_view space : {"tf.math.", "tf.linalg.", "tf.nn.", "tf."})
    if (function.starts_with(space)) return std::string(function.substr(space.size()));
  return std::string(function);
}

const std::vector<Spelling>& spellings() {
  static const std::vector<Spelling> all = [] {
    std::vector<Spelling> result;
    for (const Family& family : families())
      for (const Op& op : family.rows) {
        std::string_view rest = op.tf;
        while (!trim(rest).empty()) {
          const auto bar = std::min(rest.find('|'), rest.size());
          result.push_back(read_spelling(trim(rest.substr(0, bar)), family, op));
          rest.remove_prefix(std::min(bar + 1, rest.size()));
        }
      }
    return result;
  }();
  return all;
}

std::vector<Spelling> rows_for(std::string_view function) {
  std::vector<Spelling> result;
  for (const Spelling& spelling : spellings())
    if (spelling.function == canonical(function)) result.push_back(spelling);
  return result;
}

std::vector<Tensor> tensors_of(const Value& value) {
  if (const auto* tensor = value.as<Tensor>()) return {*tensor};
  std::vector<Tensor> result;
  if (const auto* list = value.as<Values>())
    for (const Value& part : *list)
      for (const Tensor& tensor : tensors_of(part)) result.push_back(tensor);
  return result;
}

Value evaluate(const Expr& expr, const Variables& variables) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
    case Kind::kNone: return {};
    case Kind::kBool: return expr.integer != 0;
    case Kind::kInt: return expr.integer;
    case Kind::kReal: return expr.real;
    case Kind::kText: return expr.text;
    case Kind::kName: {
      if (const auto found = variables.find(expr.text); found != variables.end()) return found->second;
      if (expr.text == "tf.newaxis") return NewAxis{};
      if (expr.text.starts_with("tf.")) return dtype_named(std::string_view(expr.text).substr(3));
      throw Unbound("nothing is called " + expr.text);
    }
    case Kind::kList: {
      Values list;
      for (const Expr& part : expr.parts) list.push_back(evaluate(part, variables));
      return list;
    }
    case Kind::kCall: {
      Values positional;
      std::vector<std::pair<std::string, Value>> keywords;
      for (const Expr& part : expr.parts) positional.push_back(evaluate(part, variables));
      for (const auto& [name, part] : expr.keywords) keywords.emplace_back(name, evaluate(part, variables));
      return call(expr.text, std::move(positional), std::move(keywords));
    }
    case Kind::kBinary: {
      const char* function = expr.text == "+" ? "tf.math.add" : expr.text == "-" ? "tf.math.subtract" : expr.text == "*" ? "tf.math.multiply" : "tf.math.divide";
      return call(function, {evaluate(expr.parts[0], variables), evaluate(expr.parts[1], variables)}, {});
    }
    case Kind::kNegate: return call("tf.math.negative", {evaluate(expr.parts[0], variables)}, {});
    case Kind::kSubscript: {
      const std::vector<Tensor> of = tensors_of(evaluate(expr.parts[0], variables));
      std::vector<Index> at;
      for (std::size_t i = 1; i < expr.parts.size(); ++i) at.push_back(index_of(expr.parts[i], variables));
      if (of.size() != 1) throw Unbound("only one tensor can be indexed");
      return of[0].index(at);
    }
    case Kind::kSlice:
    case Kind::kEllipsis: break;
  }
  throw Unbound("a slice outside of an index");
}

}  // namespace weft::golden
