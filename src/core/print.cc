#include <weft/print.h>

#include <charconv>
#include <cstdio>

#include "core/node.h"

namespace weft::inline v0 {
namespace {

[[noreturn]] void fail(const std::string& sentence) { throw ValueError("format", sentence, {}); }

/// [[fill]align][sign][0][width][.precision][type], as in std::format.
struct FieldSpec {
  char fill = ' ', align = 0, sign = '-', type = 0;
  bool zeros = false;
  int width = 0, precision = -1;
};

constexpr int kMaxField = 1000;  // wider ones are typing errors

int parse_number(std::string_view& text) {
  int value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value = value * 10 + (text[0] - '0');
    if (value > kMaxField) fail("a field is wider than " + std::to_string(kMaxField) + "; use a smaller width or precision.");
    text.remove_prefix(1);
  }
  return value;
}

FieldSpec parse(std::string_view text) {
  const std::string_view whole = text;
  FieldSpec spec;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  if (text.size() > 1 && is_align(text[1])) {
    spec.fill = text[0];
    spec.align = text[1];
    text.remove_prefix(2);
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && text[0] == '0') {
    spec.zeros = true;
    text.remove_prefix(1);
  }
  spec.width = parse_number(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    if (text.empty() || text[0] < '0' || text[0] > '9') fail("\"" + std::string(whole) + "\" has a point without a precision; write for example {:.4f}.");
    spec.precision = parse_number(text);
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) fail("\"" + std::string(whole) + "\" is not a format; write for example {:.4f} or {:>8}.");
  return spec;
}

void pad(std::string& out, std::string text, const FieldSpec& spec, bool number) {
  const auto width = static_cast<std::size_t>(spec.width);
  if (text.size() < width) {
    const std::size_t missing = width - text.size();
    const std::size_t digits = text[0] == '-' || text[0] == '+' || text[0] == ' ' ? 1 : 0;
    if (number && spec.zeros && spec.align == 0 && text[digits] >= '0' && text[digits] <= '9') {  // neither inf nor nan
      text.insert(digits, missing, '0');
    } else {
      const char align = spec.align != 0 ? spec.align : number ? '>' : '<';
      const std::size_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
      text = std::string(left, spec.fill) + text + std::string(missing - left, spec.fill);
    }
  }
  out += text;
}

std::string real_text(double value, const FieldSpec& spec) {
  char pattern[16], text[1600];
  const char type = spec.type != 0 ? spec.type : 'g';
  if (std::string_view("eEfFgG").find(type) == std::string_view::npos) fail(std::string("a floating number cannot be shown as '") + type + "'; use e, f or g.");
  std::snprintf(pattern, sizeof pattern, "%%%s.*%c", spec.sign == '-' ? "" : spec.sign == '+' ? "+" : " ", type);
  std::snprintf(text, sizeof text, pattern, spec.precision >= 0 ? spec.precision : spec.type == 0 ? 17 : 6, value);
  return text;
}

// Shows the sign of what is not negative, where the format asks for it.
std::string with_sign(std::string text, const FieldSpec& spec) {
  if (spec.sign != '-' && text[0] != '-') text.insert(0, 1, spec.sign);
  return text;
}

std::string shortest(double value, bool single) {
  char text[64];
  char* const end = text + sizeof text;
  return {text, single ? std::to_chars(text, end, static_cast<float>(value)).ptr : std::to_chars(text, end, value).ptr};
}

void append_number(std::string& out, Literal number, const FieldSpec& spec, bool single = false) {
  const bool floats = std::string_view("eEfFgG").find(spec.type) != std::string_view::npos && spec.type != 0;
  if (number.kind == Kind::boolean && spec.type == 0) return pad(out, number.integer ? "true" : "false", spec, false);
  if (number.kind == Kind::floating || floats || spec.precision >= 0) {
    const double value = number.kind == Kind::floating ? number.real : number.wide ? static_cast<double>(static_cast<std::uint64_t>(number.integer)) : static_cast<double>(number.integer);
    if (spec.type == 0 && spec.precision < 0) return pad(out, with_sign(shortest(value, single), spec), spec, true);
    return pad(out, real_text(value, spec), spec, true);
  }
  if (spec.type != 0 && spec.type != 'd' && spec.type != 'x') fail(std::string("an integer cannot be shown as '") + spec.type + "'; use d, x, e, f or g.");
  std::string text;
  if (spec.type == 'x') {
    const bool negative = number.integer < 0 && !number.wide;
    const auto bits = static_cast<unsigned long long>(number.integer);
    char hex[32];
    std::snprintf(hex, sizeof hex, "%s%llx", negative ? "-" : "", negative ? 0 - bits : bits);
    text = hex;
  } else {
    text = number.wide ? std::to_string(static_cast<std::uint64_t>(number.integer)) : std::to_string(number.integer);
  }
  pad(out, with_sign(std::move(text), spec), spec, true);
}

void append_tensor(std::string& out, const Tensor& tensor, const FieldSpec& spec, std::string_view text) {
  const bool valued = tensor.defined() && tensor.is_concrete();
  if (!valued || (spec.type == 0 && spec.precision < 0)) return pad(out, tensor.str(), spec, valued && tensor.rank() == 0);
  if (tensor.size() != 1)
    fail("a tensor " + tensor.spec().str() + " cannot be shown as \"" + std::string(text) + "\"; only one element can, use {} for the whole.");
  const DType dtype = tensor.dtype();
  if (dtype == bool_) append_number(out, Literal(tensor.item<bool>()), spec);
  else if (dtype == u64) append_number(out, Literal(tensor.item<std::uint64_t>()), spec);
  else if (is_integer(dtype)) append_number(out, Literal(tensor.item<std::int64_t>()), spec);
  else append_number(out, Literal(tensor.item<double>()), spec);
}

}  // namespace

void FormatArg::append(std::string& out, std::string_view text) const {
  const FieldSpec spec = parse(text);
  if (const Literal* number = std::get_if<Literal>(&value_)) return append_number(out, *number, spec, single_);
  if (const auto* tensor = std::get_if<const Tensor*>(&value_)) return append_tensor(out, **tensor, spec, text);
  const std::string* owned = std::get_if<std::string>(&value_);
  const std::string_view shown = owned != nullptr ? std::string_view(*owned) : std::get<std::string_view>(value_);
  if (spec.type != 0 && spec.type != 's') fail(std::string("text cannot be shown as '") + spec.type + "'; use {}.");
  pad(out, std::string(spec.precision >= 0 ? shown.substr(0, static_cast<std::size_t>(spec.precision)) : shown), spec, false);
}

std::string format_list(std::string_view text, std::span<const FormatArg> args) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
    } else if (c == '{') {
      const auto end = text.find('}', i);
      if (end == std::string_view::npos) fail("a { is not closed; write {{ for a brace.");
      std::string_view field = text.substr(i + 1, end - i - 1);
      if (!field.empty() && field[0] != ':') fail("\"{" + std::string(field) + "}\" names an argument; fields are taken in order, write {}.");
      if (!field.empty()) field.remove_prefix(1);
      if (next == args.size()) fail("there are more {} than the " + std::to_string(args.size()) + " arguments; pass one for each.");
      args[next++].append(out, field);
      i = end;
    } else if (c == '}') {
      fail("a } has no {; write }} for a brace.");
    } else {
      out += c;
    }
  }
  if (next != args.size()) fail("there are " + std::to_string(args.size()) + " arguments for " + std::to_string(next) + " {}; write one for each.");
  return out;
}

void print_list(std::string_view text, std::span<const FormatArg> args) {
  const std::string line = format_list(text, args) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
}

}  // namespace weft::inline v0
