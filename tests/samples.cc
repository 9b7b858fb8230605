#include "tests/samples.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "base/convert.h"

namespace weft::test {
namespace {

using Form = SampleInput::Form;

bool has_type_t(const Op& op, std::size_t i, DType of_sample, DType t) {
  const Input::Type type = input_of(op, i).type;
  if (type == Input::Type::kCommon) return true;
  return type == Input::Type::kAny && is_floating(of_sample) && is_floating(t);
}

bool holds(DType t, double v) {
  if (is_floating(t)) return true;
  if (t == bool_) return v == 0 || v == 1;
  return with_element(t, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::integral<T>) return v == std::floor(v) && static_cast<double>(convert<T>(v)) == v;
    else return true;
  });
}

std::size_t count_of(const Shape& shape) { return static_cast<std::size_t>(shape.num_elements()); }

std::vector<std::size_t> shuffled(std::size_t count, Numbers64& numbers) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[static_cast<std::size_t>(numbers.integer(0, static_cast<std::int64_t>(i) - 1))]);
  return order;
}

// A product of a random matrix with its transpose, plus the identity: symmetric, and well away from singular.
void fill_positive_definite(const Shape& shape, Numbers64& numbers, std::vector<double>& out) {
  if (shape.rank() < 2) {
    for (double& v : out) v = numbers.uniform(1, 2);
    return;
  }
  const auto n = static_cast<std::size_t>(std::min(shape[shape.rank() - 1], shape[shape.rank() - 2]));
  const auto columns = static_cast<std::size_t>(shape[shape.rank() - 1]);
  const auto matrix = columns * static_cast<std::size_t>(shape[shape.rank() - 2]);
  for (std::size_t start = 0; matrix > 0 && start < out.size(); start += matrix) {
    std::vector<double> m(n * n);
    for (double& v : m) v = numbers.uniform(-1, 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = i == j ? 1 : 0;
        for (std::size_t k = 0; k < n; ++k) sum += m[i * n + k] * m[j * n + k] / static_cast<double>(n);
        out[start + i * columns + j] = sum;
      }
  }
}

// `slots` are places on a grid that all inputs of the call share, so that no two elements of any of them come close.
bool fill(const SampleInput& input, const Shape& shape, DType dtype, std::span<const std::size_t> slots, std::size_t grid, Numbers64& numbers, std::vector<double>& out) {
  out.assign(count_of(shape), 0);
  if (!input.values.empty()) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = input.values[k % input.values.size()];
    return std::all_of(out.begin(), out.end(), [&](double v) { return holds(dtype, v); });
  }
  if (dtype == bool_) {
    for (double& v : out) v = static_cast<double>(numbers.integer(0, 1));
    return true;
  }
  if (input.form == Form::kPositiveDefinite) {
    if (!is_floating(dtype)) return false;
    fill_positive_definite(shape, numbers, out);
    return true;
  }
  const bool unsigned_type = dtype >= u8 && dtype <= u64;
  const double low = is_floating(dtype) ? input.low : std::ceil(unsigned_type ? std::max(0.0, input.low) : input.low);
  const double high = is_floating(dtype) ? input.high : std::floor(input.high);
  if (low > high) return false;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!is_floating(dtype) && input.form == Form::kDistinct && high - low >= static_cast<double>(grid))
      out[k] = low + std::floor((high - low) * static_cast<double>(slots[k]) / static_cast<double>(grid));
    else if (!is_floating(dtype)) out[k] = static_cast<double>(numbers.integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
    else if (input.form == Form::kUniform) out[k] = numbers.uniform(low + (high - low) / 64, high - (high - low) / 64);  // rounding stays inside
    else out[k] = low + (high - low) * (static_cast<double>(slots[k]) + 0.5) / static_cast<double>(grid);
  }
  if (input.form == Form::kSorted && shape.rank() > 0 && !out.empty()) {
    const auto run = shape[shape.rank() - 1];
    for (auto row = out.begin(); row != out.end(); row += run) std::sort(row, row + run);
  }
  return true;
}

}  // namespace

std::uint64_t Numbers64::next() {  // splitmix64
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::int64_t Numbers64::integer(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(next() % (static_cast<std::uint64_t>(high - low) + 1));
}

std::uint64_t seed_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

std::uint64_t seed_of_run(const char* text) {
  const std::uint64_t run = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return run == 0 ? 0 : Numbers64(run).next();  // mixed: a multiple of the generator's own increment would only shift its stream
}

bool has_common_input(const Op& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [](const Input& input) { return input.type == Input::Type::kCommon; });
}

std::vector<DType> dtypes_of(const Op& op) {
  if (!has_common_input(op)) return {f64};
  std::vector<DType> result;
  for (int t = 0; t < kNumDTypes; ++t)
    if (op.dtypes & bit(static_cast<DType>(t))) result.push_back(static_cast<DType>(t));
  return result;
}

std::vector<double> values(const Tensor& x) {
  std::vector<double> result(static_cast<std::size_t>(x.size()));
  with_element(x.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    for (std::size_t k = 0; k < result.size(); ++k) result[k] = convert<double>(elements<T>(x)[k]);
  });
  return result;
}

Tensor with_values(Spec spec, std::span<const double> numbers) {
  const DType dtype = spec.dtype;
  Tensor result = make_tensor(std::move(spec));
  with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    for (std::size_t k = 0; k < numbers.size(); ++k) static_cast<T*>(mutable_data(result))[k] = convert<T>(numbers[k]);
  });
  return result;
}

std::vector<Attr> make_attrs(const Op& op, const Sample& sample) {
  std::vector<Attr> result;
  for (const AttrDef& def : op.attrs) {
    const auto given = std::find_if(sample.attrs.begin(), sample.attrs.end(), [&](const auto& entry) { return std::string_view(entry.first) == def.name; });
    if (given == sample.attrs.end() && def.required) throw InternalError(std::string(op.name) + ": a sample lacks the required attribute " + def.name);
    Attr value = given == sample.attrs.end() ? def.fallback : given->second;
    if (def.kind == AttrKind::kReal && std::holds_alternative<std::int64_t>(value)) value = static_cast<double>(std::get<std::int64_t>(value));
    const std::size_t expected = def.kind == AttrKind::kFlag ? 1 : def.kind == AttrKind::kReal ? 3 : def.kind == AttrKind::kDType ? 4 : def.kind == AttrKind::kText ? 6
                               : def.kind == AttrKind::kInteger || def.kind == AttrKind::kAxis || def.kind == AttrKind::kChoice ? 2 : 5;
    const bool none = std::holds_alternative<std::monostate>(value) && def.optional;
    if (!none && value.index() != expected)
      throw InternalError(std::string(op.name) + ": a sample gives " + def.name + " a value of another kind than the row declares");
    result.push_back(std::move(value));
  }
  for (const auto& [name, value] : sample.attrs)
    if (std::none_of(op.attrs.begin(), op.attrs.end(), [&word = name](const AttrDef& def) { return std::string_view(def.name) == word; }))
      throw InternalError(std::string(op.name) + ": a sample names the unknown attribute " + name);
  return result;
}

std::optional<Arguments> make_arguments(const Op& op, const Sample& sample, const Making& making) {
  Arguments result{{}, make_attrs(op, sample)};
  Numbers64 numbers(seed_of(op.name) + making.seed + seed_of_run(std::getenv("WEFT_TEST_SEED")));
  const auto shape_of = [&](std::size_t i) -> const Shape& { return making.shapes.empty() ? sample.inputs[i].spec.shape : making.shapes[i]; };
  std::size_t grid = 0;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) grid += count_of(shape_of(i));
  const std::vector<std::size_t> slots = shuffled(grid, numbers);
  std::size_t used = 0;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const SampleInput& input = sample.inputs[i];
    DType dtype = input.spec.dtype;
    if (has_type_t(op, i, dtype, making.dtype)) dtype = making.dtype;
    else if (input_of(op, i).type == Input::Type::kIndex) dtype = making.index;
    std::vector<double> numbers_of_input;
    const std::size_t count = count_of(shape_of(i));
    if (!fill(input, shape_of(i), dtype, std::span(slots).subspan(used, count), grid, numbers, numbers_of_input)) return std::nullopt;
    used += count;
    result.inputs.push_back(with_values({dtype, shape_of(i)}, numbers_of_input));
  }
  return result;
}

Arguments converted(const Op& op, const Arguments& from, DType to) {
  Arguments result{{}, from.attrs};
  for (std::size_t i = 0; i < from.inputs.size(); ++i) {
    const Tensor& x = from.inputs[i];
    result.inputs.push_back(has_type_t(op, i, x.dtype(), to) ? with_values({to, x.shape()}, values(x)) : x);
  }
  return result;
}

Arguments symbolic(const Arguments& from, bool keep_sizes) {
  Arguments result{{}, from.attrs};
  for (const Tensor& x : from.inputs) {
    Spec spec = x.spec();
    for (int axis = 0; !keep_sizes && axis < spec.shape.rank(); ++axis) spec.shape.set(axis, kUnknown);
    result.inputs.push_back(make_symbolic(std::move(spec), Location::here()));
  }
  return result;
}

Tensors run(const Op& op, const Arguments& arguments) {
  Tensors inputs = arguments.inputs, outputs;
  apply({op, inputs, arguments.attrs, Location::here()}, outputs);
  return outputs;
}

}  // namespace weft::test
