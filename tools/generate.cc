// Writes what is derived from the op table: the public headers, the functions behind them, the reference page, and the table for those who know TensorFlow.
//
//   weft_generate ROOT           rewrites the files that differ
//   weft_generate --check ROOT   changes nothing; fails and names the files that differ
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "ops/table.h"

using namespace weft;

namespace {

std::string camel(std::string_view name) {
  std::string result;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      result += upper ? static_cast<char>(std::toupper(c)) : c;
      upper = false;
    }
  }
  return result;
}

std::string type_of(const AttrDef& def) {
  switch (def.kind) {
    case AttrKind::kFlag: return "bool";
    case AttrKind::kInteger: case AttrKind::kAxis: return "std::int64_t";
    case AttrKind::kReal: return "double";
    case AttrKind::kDType: return "DType";
    case AttrKind::kList: return "IntList";
    case AttrKind::kAxes: return "Axes";
    case AttrKind::kShape: return "Shape";
    case AttrKind::kPairs: return "Pairs";
    case AttrKind::kChoice: return def.type;
    case AttrKind::kText: return "std::string";
    case AttrKind::kRegion: break;  // no row of the table has one
  }
  return "";
}

std::string default_of(const AttrDef& def) {
  if (def.kind == AttrKind::kChoice)
    return std::string(def.type) + "::k" + camel(def.choices[static_cast<std::size_t>(std::get<std::int64_t>(def.fallback))]);
  if (def.kind == AttrKind::kDType) return "DType::" + std::string(std::get<DType>(def.fallback) == bool_ ? "bool_" : name_of(std::get<DType>(def.fallback)));
  if (const Ints* list = std::get_if<Ints>(&def.fallback)) {
    std::string text = "{";
    for (std::size_t i = 0; i < list->size(); ++i) text += (i ? ", " : "") + std::to_string((*list)[i]);
    return text + "}";
  }
  if (std::holds_alternative<std::monostate>(def.fallback)) return "{}";
  std::string text = attr_text(def, def.fallback);
  if (def.kind == AttrKind::kReal && text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

bool has_options(const Op& op) {
  for (const AttrDef& def : op.attrs)
    if (!def.required) return true;
  return false;
}

std::string options_type(const Op& op) { return camel(op.name) + "Options"; }
std::string result_type(const Op& op) {
  if (op.list_output()) return "std::vector<Tensor>";
  return op.outputs.size() == 1 ? "Tensor" : camel(op.name) + "Result";
}

// Names of inputs and required attributes in the order of the C++ parameters.
std::vector<std::string> parameters(const Op& op) {
  std::vector<std::string> names;
  if (*op.order != 0) {
    std::istringstream words(op.order);
    for (std::string word; words >> word;) names.push_back(word);
    return names;
  }
  for (const Input& input : op.inputs) names.emplace_back(input.name);
  for (const AttrDef& def : op.attrs)
    if (def.required) names.emplace_back(def.name);
  return names;
}

std::string parameter_type(const Op& op, const std::string& name) {
  for (const Input& input : op.inputs)
    if (input.name == name) return input.list ? "std::vector<Tensor>" : "Tensor";
  for (const AttrDef& def : op.attrs)
    if (def.name == name) return type_of(def);
  throw InternalError(std::string(op.name) + ": .order names no parameter: " + name);
}

std::string signature(const Op& op, bool declaration) {
  std::string text = result_type(op) + " " + op.name + "(";
  for (const std::string& name : parameters(op)) text += parameter_type(op, name) + " " + name + ", ";
  if (has_options(op)) text += options_type(op) + " options" + (declaration ? " = {}, " : ", ");
  return text + "Location at" + (declaration ? " = Location::here())" : ")");
}

std::string sentence(const Op& op) { return op.doc; }

std::string header(const Family& family) {
  std::ostringstream out;
  out << "// " << family.doc << "\n//\n// Derived from the op table by ./scripts/generate; do not edit.\n#pragma once\n\n"
      << "#include <weft/ops/types.h>\n\nnamespace weft::inline v0 {\n\n";
  for (const Op& op : family.rows) {
    if (has_options(op)) {
      out << "struct " << options_type(op) << " {";
      for (const AttrDef& def : op.attrs)
        if (!def.required) out << " " << type_of(def) << " " << def.name << " = " << default_of(def) << ";";
      out << " };\n";
    }
    if (!op.list_output() && op.outputs.size() > 1) {
      out << "struct " << result_type(op) << " { Tensor ";
      for (std::size_t i = 0; i < op.outputs.size(); ++i) out << (i ? ", " : "") << op.outputs[i];
      out << "; };\n";
    }
    out << "WEFT_API " << signature(op, true) << ";  ///< " << sentence(op) << "\n";
  }
  out << "\n}  // namespace weft::inline v0\n";
  return out.str();
}

std::string types_header() {
  std::map<std::string, std::vector<const char*>> enums;
  for (const Family& family : families())
    for (const Op& op : family.rows)
      for (const AttrDef& def : op.attrs)
        if (def.kind == AttrKind::kChoice) {
          const auto [at, fresh] = enums.emplace(def.type, def.choices);
          if (!fresh && at->second.size() != def.choices.size()) throw InternalError(std::string(def.type) + " is declared twice, differently");
        }
  std::ostringstream out;
  out << "// Choices that ops offer.\n//\n// Derived from the op table by ./scripts/generate; do not edit.\n#pragma once\n\n"
      << "#include <string>\n#include <vector>\n\n#include <weft/axes.h>\n#include <weft/tensor.h>\n\nnamespace weft::inline v0 {\n\n";
  for (const auto& [type, choices] : enums) {
    out << "enum class " << type << " : std::uint8_t {";
    for (std::size_t i = 0; i < choices.size(); ++i) out << (i ? ", " : " ") << "k" << camel(choices[i]);
    out << " };\n";
  }
  out << "\n}  // namespace weft::inline v0\n";
  return out.str();
}

std::string umbrella() {
  std::string text = "// Every op, family by family; docs/ops.md is the reference.\n//\n"
                     "// Ops are pure functions of their arguments and are thread-safe. Each throws the Error subclasses that its checks call\n"
                     "// for (ShapeError, DtypeError, IndexError, ValueError, OutOfMemoryError) and then has no effect. `at` is the caller's line, for\n"
                     "// errors.\n//\n// Derived from the op table by ./scripts/generate; do not edit.\n#pragma once\n\n";
  for (const Family& family : families()) text += std::string("#include <weft/ops/") + family.name + ".h>\n";
  return text;
}

void define(const Op& op, std::size_t family, std::size_t position, std::ostream& out) {
  out << signature(op, false) << " {\n  static const Op& row = row_at(" << family << ", " << position << ");\n";
  const bool list = op.list_input();
  if (list) {
    out << "  SmallVector<Tensor, 4> inputs;\n";
    for (const Input& input : op.inputs) {
      if (input.list) out << "  for (Tensor& t : " << input.name << ") inputs.push_back(std::move(t));\n";
      else out << "  inputs.push_back(std::move(" << input.name << "));\n";
    }
  } else if (op.inputs.empty()) {
    out << "  const std::span<Tensor> inputs;\n";
  } else {
    out << "  Tensor inputs[] = {";
    for (std::size_t i = 0; i < op.inputs.size(); ++i) out << (i ? ", " : "") << "std::move(" << op.inputs[i].name << ")";
    out << "};\n";
  }
  if (op.attrs.empty()) {
    out << "  const AttrSpan attrs;\n";
  } else {
    out << "  const Attr attrs[] = {";
    for (std::size_t i = 0; i < op.attrs.size(); ++i)
      out << (i ? ", " : "") << "to_attr(" << (op.attrs[i].required ? "" : "options.") << op.attrs[i].name << ")";
    out << "};\n";
  }
  if (op.outputs.size() == 1 && !op.list_output()) {
    out << "  return apply_one(row, inputs, attrs, at);\n}\n\n";
    return;
  }
  out << "  Tensors outputs;\n  apply({row, inputs, attrs, at}, outputs);\n  return {";
  if (op.list_output()) out << "outputs.begin(), outputs.end()";
  else
    for (std::size_t i = 0; i < op.outputs.size(); ++i) out << (i ? ", " : "") << "std::move(outputs[" << i << "])";
  out << "};\n}\n\n";
}

std::string source(const Family& family, std::size_t number) {
  std::ostringstream out;
  out << "// Derived from the op table by ./scripts/generate; do not edit.\n#include <weft/ops/" << family.name
      << ".h>\n\n#include \"core/apply.h\"\n#include \"ops/table.h\"\n\nnamespace weft::inline v0 {\n\n";
  for (std::size_t i = 0; i < family.rows.size(); ++i) define(family.rows[i], number, i, out);
  out << "}  // namespace weft::inline v0\n";
  return out.str();
}

std::string names_source() {
  std::ostringstream out;
  out << "// Derived from the op table by ./scripts/generate; do not edit.\n#include \"ops/table.h\"\n\nnamespace weft::inline v0 {\n\n"
      << "const char* const kGeneratedNames[] = {\n";
  for (const Family& family : families())
    for (const Op& op : family.rows) out << "    \"" << op.name << "\",\n";
  out << "    nullptr};\nconst std::size_t kGeneratedCount = " << row_count() << ";\n\n}  // namespace weft::inline v0\n";
  return out.str();
}

std::string body_word(const Op& op) {
  if (op.tile) return "pointwise";
  if (op.is(kView)) return "shares memory";
  return op.kernel != nullptr || op.update != nullptr ? "kernel" : "made of other ops";
}

std::string reference() {
  std::ostringstream out;
  out << "# Ops\n\nDerived from the op table by `./scripts/generate`. T is the dtype that a call's unmarked tensors share. Every op also takes a\n"
         "trailing source location, used in errors.\n";
  for (const Family& family : families()) {
    out << "\n## " << family.name << "\n\n" << family.doc << " Header `weft/ops/" << family.name << ".h`.\n\n";
    for (const Op& op : family.rows) {
      std::string call = signature(op, true);
      call = call.substr(0, call.rfind("Location at"));
      while (call.ends_with(", ")) call.resize(call.size() - 2);
      out << "### `" << op.name << "`\n\n" << op.doc << "\n\n```cpp\n" << call << ")\n```\n";
      for (const Input& input : op.inputs)
        if (input.type != Input::Type::kCommon) out << "- `" << input.name << "`: " << dtypes_text(allowed(op, input)) << ".\n";
      for (const AttrDef& def : op.attrs) {
        if (!def.required) out << "- `" << def.name << "`: default `" << (def.optional ? "none" : attr_text(def, def.fallback)) << "`";
        else out << "- `" << def.name << "`";
        if (!def.choices.empty()) {
          out << ", one of";
          for (const char* choice : def.choices) out << " `" << def.type << "::k" << camel(choice) << "`";
        }
        out << ".\n";
      }
      if (op.dtypes != 0) out << "- T: " << dtypes_text(op.dtypes) << ".\n";
      out << "- " << body_word(op) << (op.differentiable() ? "; differentiable" : "; no gradient") << (op.is(kMayFail) ? "; may fail on values" : "")
          << (op.is(kValueShape) ? "; the result's shape depends on values" : "") << ".\n";
      if (*op.tf != 0) out << "- TensorFlow: `" << op.tf << "`.\n";
      out << "\n";
    }
  }
  return out.str();
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "sum(x, {axis, keepdims})"
std::string short_call(const Op& op) {
  std::string text, options;
  for (const std::string& name : parameters(op)) text += (text.empty() ? "" : ", ") + name;
  for (const AttrDef& def : op.attrs)
    if (!def.required) options += (options.empty() ? "" : ", ") + std::string(def.name);
  if (!options.empty()) text += (text.empty() ? "{" : ", {") + options + "}";
  return op.name + ("(" + text + ")");
}

// A page that is written by hand up to the marker; behind it follows each spelling of TensorFlow, in alphabetical order, with the op that it is.
std::string translation(const std::string& page) {
  static constexpr std::string_view kMarker = "<!-- From here on derived from the op table by ./scripts/generate; do not edit. -->\n";
  const std::size_t at = page.find(kMarker);
  if (at == std::string::npos) throw InternalError("docs/coming-from-tensorflow.md has lost its marker");
  std::map<std::string, const Op*> spellings;
  for (const Family& family : families())
    for (const Op& op : family.rows) {
      std::string_view rest = op.tf;
      while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(" | "));
        rest.remove_prefix(std::min(rest.size(), one.size() + 3));
        spellings.emplace(one, &op);
      }
    }
  std::string text = page.substr(0, at + kMarker.size()) + "\n| TensorFlow | Weft |\n|---|---|\n";
  for (const auto& [spelling, op] : spellings) text += "| `" + spelling + "` | [`" + short_call(*op) + "`](ops.md#" + op->name + ") |\n";
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) return std::fprintf(stderr, "usage: weft_generate [--check] ROOT\n"), 2;
  const std::filesystem::path root = argv[argc - 1];

  std::map<std::filesystem::path, std::string> files;
  std::size_t number = 0;
  for (const Family& family : families()) {
    files[root / "include/weft/ops" / (std::string(family.name) + ".h")] = header(family);
    files[root / "src/ops/generated" / (std::string(family.name) + ".cc")] = source(family, number++);
  }
  files[root / "include/weft/ops/types.h"] = types_header();
  files[root / "include/weft/ops.h"] = umbrella();
  files[root / "src/ops/generated/names.cc"] = names_source();
  files[root / "docs/ops.md"] = reference();
  files[root / "docs/coming-from-tensorflow.md"] = translation(read(root / "docs/coming-from-tensorflow.md"));

  int stale = 0;
  for (const auto& [path, text] : files) {
    if (read(path) == text) continue;
    ++stale;
    std::printf("%s %s\n", check ? "stale:" : "wrote", std::filesystem::relative(path, root).c_str());
    if (check) continue;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  if (check && stale > 0) return std::fprintf(stderr, "run ./scripts/generate and commit the result\n"), 1;
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "weft_generate: %s\n", error.what()), 1;
}
