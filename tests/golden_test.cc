// Every case of tests/data/ops.json: what TensorFlow 2.21 returns for an expression, and its gradients.
//
// A test is named after the family of the outermost function, the case's position in the file and its expression, so that
//   weft_tests --gtest_filter='*Golden*/reduce_*'         runs the cases of one family (src/ops/reduce.cc),
//   weft_tests --gtest_filter='*Golden*/*_174_*'          runs one case,
//   weft_tests --gtest_filter='*Golden*/missing_*'        runs (and fails) those whose function no row names yet,
//   weft_tests --gtest_filter='GoldenTable.*'             says which functions are missing.
// golden_bind.h says how `.tf` fields are read.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/golden_bind.h"
#include <weft/weft.h>

namespace weft::golden {
namespace {

using nlohmann::json;

// The file's general tolerance. No row needs more.
struct Tolerance {
  double relative = 1e-5, absolute = 1e-6;
};

const json& cases() {
  static const json all = [] {
    std::ifstream file(WEFT_SOURCE_DIR "/tests/data/ops.json");
    return json::parse(file);
  }();
  return all;
}

double number_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_string()) return value.get<double>();
  const std::string text = value;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

std::vector<double> numbers_of(const json& tensor) {
  std::vector<double> result;
  for (const json& value : tensor.at("data")) result.push_back(number_of(value));
  return result;
}

Spec spec_of(const json& tensor) {
  Shape shape;
  for (const json& size : tensor.at("shape")) shape.append(size.get<std::int64_t>());
  const std::string name = tensor.at("dtype");
  const Value dtype = evaluate(parse("tf." + name), {});
  return {*dtype.as<DType>(), shape};
}

Tensor tensor_of(const json& tensor) {
  const Spec spec = spec_of(tensor);
  return cast(Tensor(numbers_of(tensor), spec.shape), spec.dtype);
}

void expect_close(const std::vector<double>& got, const std::vector<double>& wanted, Tolerance tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(wanted[i])) continue;
    if (got[i] == wanted[i]) continue;
    const double limit = tolerance.absolute + tolerance.relative * std::abs(wanted[i]);
    EXPECT_LE(std::abs(got[i] - wanted[i]), limit) << what << "[" << i << "] is " << got[i] << ", TensorFlow has " << wanted[i];
  }
}

void expect_same(const Tensor& got, const json& wanted, Tolerance tolerance, const std::string& what) {
  ASSERT_TRUE(got.defined()) << what;
  const Spec spec = spec_of(wanted);
  ASSERT_EQ(got.spec().str(), spec.str()) << what;
  if (!is_floating(spec.dtype)) tolerance = {0, 0};
  expect_close(cast(got, f64).to_vector<double>(), numbers_of(wanted), tolerance, what);
}

Tensor cotangent_for(const Tensor& output) {
  std::vector<double> values(static_cast<std::size_t>(output.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::cos(static_cast<double>(i));
  return cast(Tensor(values, output.shape()), output.dtype());
}

/// Outputs of an expression and the gradients of its floating ones, for the file's cotangents, by input.
struct Answer {
  std::vector<Tensor> outputs;
  std::map<std::string, Grad> gradients;
};

Answer answer(const Expr& expr, const Variables& inputs, bool with_gradients) {
  Answer result;
  if (!with_gradients) return result.outputs = tensors_of(evaluate(expr, inputs)), result;
  GradientTape tape;
  std::vector<std::string> names;
  std::vector<Tensor> sources, targets, cotangents;
  for (const auto& [name, value] : inputs)
    if (is_floating(value.dtype())) {
      tape.watch(value);
      names.push_back(name);
      sources.push_back(value);
    }
  result.outputs = tensors_of(evaluate(expr, inputs));
  for (const Tensor& output : result.outputs)
    if (is_floating(output.dtype())) {
      targets.push_back(output);
      cotangents.push_back(cotangent_for(output));
    }
  const std::vector<Grad> grads = tape.gradients(targets, sources, {.unconnected = Unconnected::kNone, .output_gradients = cotangents});
  for (std::size_t i = 0; i < names.size(); ++i) result.gradients[names[i]] = grads[i];
  return result;
}

void expect_gradient(const Grad& got, const json& wanted, Tolerance tolerance, const std::string& name) {
  const std::string what = "the gradient of " + name;
  if (wanted.is_null()) {
    EXPECT_FALSE(got.present()) << what << ": TensorFlow has none";
    return;
  }
  ASSERT_TRUE(got.present()) << what;
  if (!wanted.contains("indexed_slices")) return expect_same(got.dense(), wanted, tolerance, what);
  ASSERT_TRUE(got.sparse()) << what << " is dense, TensorFlow has IndexedSlices";
  const json& slices = wanted.at("indexed_slices");
  expect_same(got.slices().indices, slices.at("indices"), tolerance, what + ".indices");
  expect_same(got.slices().values, slices.at("values"), tolerance, what + ".values");
  const std::vector<double> sizes = numbers_of(slices.at("dense_shape"));
  const Shape& shape = got.slices().like.shape();
  EXPECT_EQ(std::vector<double>(shape.begin(), shape.end()), sizes) << what << ".like";
}

double loss(const Expr& expr, const Variables& inputs) {
  double total = 0;
  for (const Tensor& output : answer(expr, inputs, false).outputs) {
    const std::vector<double> values = output.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) total += values[i] * std::cos(static_cast<double>(i));
  }
  return total;
}

// Where TensorFlow has no gradient, central differences in f64 stand in for it.
void expect_agrees_with_differences(const Expr& expr, const Variables& inputs) {
  Variables wide;
  for (const auto& [name, value] : inputs) wide[name] = is_floating(value.dtype()) ? cast(value, f64) : value;
  const Answer exact = answer(expr, wide, true);
  constexpr double kStep = 1e-4;
  for (const auto& [key, grad] : exact.gradients) {
    const std::string& name = key;  // clang 14 captures no structured bindings
    ASSERT_TRUE(grad.present()) << name;
    const std::vector<double> base = wide[name].to_vector<double>();
    std::vector<double> numeric;
    for (std::size_t i = 0; i < base.size(); ++i) {
      Variables moved = wide;
      const auto at = [&](double offset) {
        std::vector<double> values = base;
        values[i] += offset;
        moved[name] = Tensor(values, wide[name].shape());
        return loss(expr, moved);
      };
      numeric.push_back((at(kStep) - at(-kStep)) / (2 * kStep));
    }
    expect_close(grad.dense().to_vector<double>(), numeric, {1e-6, 1e-7}, "the gradient of " + name);
  }
}

class OpsGolden : public testing::TestWithParam<std::size_t> {};

TEST_P(OpsGolden, AgreesWithTensorFlow) {
  const json& record = cases()[GetParam()];
  SCOPED_TRACE(record.at("expr").get<std::string>());
  const Expr expr = parse(record.at("expr").get<std::string>());
  Variables inputs;
  for (const auto& [name, value] : record.at("inputs").items()) inputs[name] = tensor_of(value);
  try {
    const bool gradients = record.contains("gradients") && !record.contains("gradient_error");
    const Tolerance tolerance;
    const Answer got = answer(expr, inputs, gradients);
    ASSERT_EQ(got.outputs.size(), record.at("outputs").size());
    for (std::size_t i = 0; i < got.outputs.size(); ++i)
      expect_same(got.outputs[i], record.at("outputs")[i], tolerance, "output " + std::to_string(i));
    if (gradients)
      for (const auto& [name, wanted] : record.at("gradients").items()) expect_gradient(got.gradients.at(name), wanted, tolerance, name);
    if (record.contains("gradient_error")) expect_agrees_with_differences(expr, inputs);
  } catch (const std::exception& error) {
    FAIL() << error.what();
  }
}

// The family of the outermost function's row.
std::string family_of(const Expr& expr) {
  if (expr.kind == Expr::Kind::kSubscript) return "slice";
  if (expr.kind == Expr::Kind::kBinary) return "pointwise";
  const std::vector<Spelling> rows = rows_for(expr.text);
  return rows.empty() ? "missing" : rows[0].family->name;
}

std::string name_of_case(std::size_t position) {
  const std::string text = cases()[position].at("expr");
  std::string number = std::to_string(position);
  std::string name = family_of(parse(text)) + "_" + std::string(3 - std::min<std::size_t>(3, number.size()), '0') + number + "_";
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    else if (name.back() != '_') name += '_';
  }
  while (name.back() == '_') name.pop_back();
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, OpsGolden, testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& test) { return name_of_case(test.param); });

TEST(GoldenTable, NamesEveryFunctionOfTheFile) {
  std::set<std::string> functions, missing;
  for (const json& record : cases()) {
    std::vector<std::string> names;
    called_functions(parse(record.at("expr").get<std::string>()), names);
    functions.insert(names.begin(), names.end());
  }
  std::string list;
  for (const std::string& name : functions)
    if (rows_for(name).empty()) missing.insert(name), list += " " + name;
  std::cout << functions.size() - missing.size() << " of " << functions.size() << " functions have a row; " << cases().size() << " cases\n";
  EXPECT_TRUE(missing.empty()) << "no row names" << list;
}

TEST(GoldenTable, SpellsArgumentsThatTheRowsDeclare) {
  for (const Spelling& spelling : spellings()) {
    std::set<std::string> declared = {"_"};
    for (const Input& input : spelling.op->inputs) declared.emplace(input.name);
    for (const AttrDef& def : spelling.op->attrs) declared.emplace(def.name);
    for (const Spelling::Parameter& parameter : spelling.parameters)
      EXPECT_TRUE(declared.contains(parameter.name)) << spelling.op->name << ": .tf names " << parameter.name;
  }
}

TEST(GoldenExpr, ReadsWhatTheFilesUse) {
  const Expr call = parse("tf.a.f(x, [[1, -2], []], 1e-3, axis=-1, mode='REFLECT', dtype=tf.int32, on=True, none=None)");
  EXPECT_EQ(call.text, "tf.a.f");
  ASSERT_EQ(call.parts.size(), 3u);
  EXPECT_EQ(call.parts[1].parts[0].parts[1].integer, -2);
  EXPECT_EQ(call.parts[2].real, 1e-3);
  ASSERT_EQ(call.keywords.size(), 5u);
  EXPECT_EQ(call.keywords[1].second.text, "REFLECT");
  EXPECT_EQ(call.keywords[3].second.kind, Expr::Kind::kBool);
  const Expr index = parse("x[..., -1, ::2, 1:, tf.newaxis]");
  ASSERT_EQ(index.parts.size(), 6u);
  EXPECT_EQ(index.parts[3].parts[2].integer, 2);
  EXPECT_EQ(parse("x + 0.3 * (y - x)").parts[1].text, "*");
  for (const char* bad : {"", "f(", "x[", "1 2", "f(x))", "'a", "[1", "-"}) EXPECT_THROW(parse(bad), SyntaxError) << bad;
}

TEST(GoldenExpr, EvaluatesThroughTheTable) {
  const Variables x = {{"x", Tensor({1.f, 2.f})}};
  EXPECT_EQ(tensors_of(evaluate(parse("0.5 * x - 3"), x))[0].to_vector<float>(), (std::vector<float>{-2.5f, -2.f}));
  EXPECT_EQ(tensors_of(evaluate(parse("tf.concat([x, x], axis=0)"), x))[0].size(), 4);
  EXPECT_EQ(tensors_of(evaluate(parse("tf.cast(x, tf.int32)"), x))[0].dtype(), i32);
  EXPECT_THROW(evaluate(parse("tf.no_such_function(x)"), x), Unbound);
  EXPECT_THROW(evaluate(parse("tf.concat(x)"), x), Unbound);
  EXPECT_THROW(evaluate(parse("tf.math.exp(x, nonsense=1)"), x), Unbound);
}

}  // namespace
}  // namespace weft::golden
