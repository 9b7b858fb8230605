// For every row: results depend neither on the number of threads nor, for pointwise code, on the instruction set; but fused lanes may
// differ between the baseline and the others.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tests/suite_rows.h"
#include <weft/runtime.h>

namespace weft::test {
namespace {

std::string bytes_of(const Tensor& x) { return {elements<char>(x), static_cast<std::size_t>(x.size()) * size_of(x.dtype())}; }

// The sample with every size multiplied by `factor`: sizes that had to agree still do. Nothing if that is no valid call, or a large one.
std::optional<Arguments> enlarged(const Op& op, const Sample& sample, DType dtype, std::int64_t factor, std::int64_t most_elements) {
  std::vector<Shape> shapes;
  std::int64_t elements = 0;
  for (const SampleInput& input : sample.inputs) {
    Shape shape = input.spec.shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] != 1) shape.set(axis, shape[axis] * factor);
    elements += shape.num_elements();
    shapes.push_back(shape);
  }
  if (elements > most_elements) return {};
  try {
    auto arguments = make_arguments(op, sample, {.dtype = dtype, .shapes = shapes});
    if (arguments) run(op, *arguments);
    return arguments;
  } catch (const std::exception&) {  // a size that an attribute fixes, or values given one by one
    return {};
  }
}

class Threads : public RowSuite {
 protected:
  void TearDown() override {
    set_num_threads(before_);
    RowSuite::TearDown();
  }
  const int before_ = num_threads();
};

TEST_P(Threads, DoNotMatter) {
  const std::int64_t most = (std::string_view(GetParam().family) == "linalg" ? 20'000 : 300'000) / (small_scale() ? 4 : 1);
  struct Case {
    std::string name;
    Arguments arguments;
    std::vector<std::string> results{};
  };
  std::vector<Case> cases;
  for (std::size_t s = 0; s < samples().size(); ++s)
    for (const DType dtype : dtypes_of(op())) {
      if (has_common_input(op()) && size_of(dtype) < 4 && dtype != bool_ && !is_half(dtype)) continue;
      std::optional<Arguments> arguments;
      for (const std::int64_t factor : {256, 128, 64, 32, 16, 8, 4, 2})
        if (arguments = enlarged(op(), samples()[s], dtype, factor, most); arguments) break;
      if (!arguments) arguments = make_arguments(op(), samples()[s], {.dtype = dtype});
      if (arguments) cases.push_back({case_name(op(), s, dtype) + shapes_text(arguments->inputs), std::move(*arguments)});
    }
  for (const int threads : {1, 2, 3, 4, 8}) {
    set_num_threads(threads);
    for (Case& one : cases) {
      const Tensors results = run(op(), one.arguments);
      if (threads == 1)
        for (const Tensor& y : results) one.results.push_back(bytes_of(y));
      ASSERT_EQ(results.size(), one.results.size());
      for (std::size_t o = 0; o < results.size(); ++o) ASSERT_TRUE(bytes_of(results[o]) == one.results[o]) << one.name << ": output " << o << " differs on " << threads << " threads";
    }
  }
  counted(cases.size());
}

// One NaN is as good as another: which of two operands gives its payload is the instruction's choice.
void unify_nans(DType dtype, std::string& bytes) {
  with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_floating_point_v<T>)
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        if (value != value) std::memset(bytes.data() + at, 0xff, sizeof value);
      }
  });
}

// Fused lanes round less often than the baseline's: they may differ by 8 units in the last place, or as much of the last of several
// inputs (a gradient is a product with it), and by some denormals. NaN and infinity are the same. The errors of gelu are those of x
// times a number near 1, on the left, too, where that is nearly 0.
std::string far_apart(const Op& op, const std::string& got, const std::string& want, const void* first_input, const void* last_input, bool several) {
  const bool times_x = std::string_view(op.name).starts_with("gelu");
  for (std::size_t k = 0; k < got.size() / sizeof(float); ++k) {
    float a, b, x, factor;
    std::memcpy(&x, static_cast<const char*>(first_input) + k * sizeof x, sizeof x);
    std::memcpy(&a, got.data() + k * sizeof a, sizeof a);
    std::memcpy(&b, want.data() + k * sizeof b, sizeof b);
    std::memcpy(&factor, static_cast<const char*>(last_input) + k * sizeof factor, sizeof factor);
    if ((a != a && b != b) || a == b) continue;
    using Limits = std::numeric_limits<float>;
    const float beside = several ? factor : times_x ? x : 0;
    const float size = std::max(std::abs(b), std::isfinite(beside) ? std::abs(beside) : 0.0f);
    if (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= 8 * Limits::epsilon() * size + 16 * Limits::denorm_min()) continue;
    char text[128];
    std::snprintf(text, sizeof text, "lane %zu, of %.9g, is %.9g, not %.9g", k, static_cast<double>(x), static_cast<double>(a), static_cast<double>(b));
    return text;
  }
  return {};
}

constexpr DType kCloned[] = {f32, f64, i32, i64};

class InstructionSets : public RowSuite {};

TEST_P(InstructionSets, AgreeBitForBit) {
  const auto clones_of = [&](DType dtype) { return op().tile.every[static_cast<std::size_t>(dtype)]; };
  if (std::none_of(std::begin(kCloned), std::end(kCloned), [&](DType dtype) { return clones_of(dtype)[kernels::Isa::kBaseline] != nullptr; }))
    return not_applicable("no clones");
  constexpr std::size_t kLanes = 1003;
  const auto arity = static_cast<std::size_t>(op().tile.arity);
  for (const DType dtype : kCloned) {
    const auto clones = clones_of(dtype);
    if (clones[kernels::Isa::kBaseline] == nullptr) continue;
    // Random bits: every kind of number, NaN and infinity included; numbers of everyday size; and of those the positive ones.
    enum class Kind { kAny, kEveryday, kPositive };
    for (const Kind kind : {Kind::kAny, Kind::kEveryday, Kind::kPositive}) {
      Numbers64 numbers(seed_of(op().name) + static_cast<std::uint64_t>(kind));
      std::vector<std::vector<std::uint64_t>> inputs(arity, std::vector<std::uint64_t>(kLanes));
      const void* in[kernels::kMaxTileInputs];
      for (std::size_t i = 0; i < arity; ++i) {
        for (std::uint64_t& word : inputs[i]) word = numbers.next();
        if (kind != Kind::kAny)
          with_element(dtype, [&](auto* tag) {
            using T = std::remove_pointer_t<decltype(tag)>;
            if constexpr (std::is_arithmetic_v<T>)
              for (std::size_t k = 0; k < kLanes; ++k)
                reinterpret_cast<T*>(inputs[i].data())[k] = static_cast<T>(numbers.uniform(kind == Kind::kPositive ? 0.01 : -20, 20));
          });
        in[i] = inputs[i].data();
      }
      std::string want;
      for (const kernels::Isa set : {kernels::Isa::kBaseline, kernels::Isa::kV3, kernels::Isa::kV4}) {
        if (set > kernels::best_isa()) continue;
        const DType out = op().tile.out[static_cast<std::size_t>(dtype)];
        std::string got(kLanes * size_of(out), '\0');
        clones[set](in, got.data(), kLanes);
        unify_nans(out, got);
        std::string alone(got.size(), '\0');
        for (std::size_t k = 0; k < kLanes; ++k) {
          const void* lane[kernels::kMaxTileInputs];
          for (std::size_t i = 0; i < arity; ++i) lane[i] = static_cast<const char*>(in[i]) + k * size_of(dtype);
          clones[set](lane, alone.data() + k * size_of(out), 1);
        }
        unify_nans(out, alone);
        EXPECT_TRUE(got == alone) << op().name << " on " << kernels::name_of(set) << ": lanes depend on those beside them";
        if (const kernels::TileFn past = op().tile.past_for(dtype); past != nullptr && set == kernels::isa())
          for (const std::size_t shift : {0, 16}) {  // a result that begins with a line of the cache, and one that does not
            std::vector<char> room(got.size() + 128, 'x');
            char* const to = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64 + shift;
            past(in, to, kLanes);
            kernels::finish_streaming();
            std::string streamed(to, got.size());
            unify_nans(out, streamed);
            EXPECT_TRUE(streamed == got) << op().name << ": stores past the caches change results";
            EXPECT_TRUE(to[got.size()] == 'x' && (to == room.data() || to[-1] == 'x')) << op().name << " writes beside its result";
          }
        if (set == kernels::Isa::kBaseline) {
          want = got;
        } else if (op().tile.fused && dtype == f32 && set == kernels::Isa::kV3) {
          EXPECT_EQ(far_apart(op(), got, want, in[0], in[arity - 1], arity > 1), "") << op().name << " on " << kernels::name_of(set);
          want = got;
        }
        const auto differs = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
        EXPECT_EQ(static_cast<std::size_t>(differs), got.size()) << op().name << " " << name_of(dtype) << " on " << kernels::name_of(set) << ": byte " << differs;
      }
      counted();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Threads, testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, InstructionSets, testing::ValuesIn(all_rows()), row_name);

}  // namespace
}  // namespace weft::test
