#include "tests/abstract.h"

#include "core/infer.h"

namespace weft::test {
namespace {

std::string bytes_of(const Tensor& x) {
  std::string text = x.spec().str() + "=";
  const auto* bytes = static_cast<const unsigned char*>(mutable_data(x));
  const auto count = static_cast<std::size_t>(x.size()) * size_of(x.dtype());
  for (std::size_t k = 0; k < count && k < 64; ++k) text += "0123456789abcdef"[bytes[k] >> 4], text += "0123456789abcdef"[bytes[k] & 15];
  return text;
}

std::string line_of(const Call& call) {
  std::string line = std::string(call.op.name) + "(";
  for (const Tensor& input : call.inputs) line += (input.is_concrete() ? bytes_of(input) : std::string(name_of(input.dtype()))) + ", ";
  for (std::size_t i = 0; i < call.attrs.size(); ++i) line += std::string(call.op.attrs[i].name) + "=" + attr_text(call.op.attrs[i], call.attrs[i]) + ", ";
  return line + ")";
}

}  // namespace

bool compatible(const Spec& a, const Spec& b) { return a.dtype == b.dtype && infer::compatible(a.shape, b.shape); }

void Abstract::apply(Call call, Tensors& outputs) {
  const Specs specs = check(call);
  log_.push_back(line_of(call));
  if (call.op.expand != nullptr) {
    const Tensors parts = call.op.expand(Expand{{call.op, call.attrs, call.at}, call.inputs});
    if (parts.size() != specs.size())
      throw InternalError(std::string(call.op.name) + " expands to " + std::to_string(parts.size()) + " outputs, .infer says " + std::to_string(specs.size()));
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!compatible(parts[i].spec(), specs[i]))
        throw InternalError(std::string(call.op.name) + " expands to " + parts[i].spec().str() + ", .infer says " + specs[i].str());
  }
  for (const Spec& spec : specs) outputs.push_back(make_symbolic(spec, call.at));
}

}  // namespace weft::test
