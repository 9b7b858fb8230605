// Indexing against a small model of NumPy's rules, and what the table cannot say: texts of errors, splitting, iteration.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/node.h"
#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::message;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();

Tensor counting(Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor(values, shape);
}

void expect_equal(const Tensor& y, const Shape& shape, const std::vector<float>& values) {
  EXPECT_EQ(y.shape(), shape) << y.shape().str() << " instead of " << shape.str();
  EXPECT_EQ(y.to_vector<float>(), values);
}

// --- a model of indexing: positions are listed one by one, as Python's range(*slice.indices(n)) does ---

__extension__ typedef __int128 Wide;  // no sum of two positions overflows

std::vector<std::int64_t> positions(const Range& range, std::int64_t size) {
  const std::int64_t step = range.step;
  const auto bound = [&](std::optional<std::int64_t> given, std::int64_t open) {
    if (!given) return open;
    Wide at = *given;
    if (at < 0) at += size;
    const Wide low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    return static_cast<std::int64_t>(at < low ? low : at > high ? high : at);
  };
  const std::int64_t start = bound(range.start, step > 0 ? 0 : size - 1), stop = bound(range.stop, step > 0 ? size : -1);
  std::vector<std::int64_t> result;
  for (Wide at = start; step > 0 ? at < stop : at > stop; at += step) result.push_back(static_cast<std::int64_t>(at));
  return result;
}

struct Modelled {
  Shape shape;
  std::vector<float> values;
};

Modelled model(const Tensor& x, const std::vector<Index>& at) {
  int named = 0;
  bool has_ellipsis = false;
  for (const Index& index : at) {
    named += index.what != Index::What::kEllipsis && index.what != Index::What::kNewAxis;
    has_ellipsis = has_ellipsis || index.what == Index::What::kEllipsis;
  }
  std::vector<Index> full = at;
  if (!has_ellipsis) full.push_back(ellipsis);
  std::vector<std::vector<std::int64_t>> lists;
  Modelled result;
  for (const Index& index : full) {
    const int axis = static_cast<int>(lists.size());
    switch (index.what) {
      case Index::What::kNewAxis: result.shape.append(1); break;
      case Index::What::kPosition: lists.push_back({index.position < 0 ? index.position + x.shape()[axis] : index.position}); break;
      case Index::What::kEllipsis:
        for (int i = 0; i < x.rank() - named; ++i) {
          lists.push_back(positions({}, x.shape()[axis + i]));
          result.shape.append(x.shape()[axis + i]);
        }
        break;
      case Index::What::kAll:
      case Index::What::kRange:
        lists.push_back(positions(index.bounds, x.shape()[axis]));
        result.shape.append(static_cast<std::int64_t>(lists.back().size()));
    }
  }
  const std::vector<float> values = x.to_vector<float>();
  std::vector<std::size_t> offsets{0};
  for (std::size_t axis = 0; axis < lists.size(); ++axis) {
    std::vector<std::size_t> next;
    for (std::size_t offset : offsets)
      for (std::int64_t position : lists[axis])
        next.push_back(offset * static_cast<std::size_t>(x.shape()[static_cast<int>(axis)]) + static_cast<std::size_t>(position));
    offsets = next;
  }
  for (std::size_t offset : offsets) result.values.push_back(values[offset]);
  return result;
}

class RandomIndex {
 public:
  std::int64_t up_to(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(engine_); }

  Shape shape() {
    Shape result;
    for (std::int64_t rank = up_to(4); rank > 0; --rank) result.append(up_to(9) == 0 ? 0 : 1 + up_to(4));
    return result;
  }
  std::vector<Index> expression(const Shape& shape) {
    std::vector<Index> result;
    const auto named = static_cast<int>(up_to(shape.rank()));
    const std::int64_t dots = up_to(named + 2);  // often beyond the last entry: no ellipsis
    for (int axis = 0; axis <= named; ++axis) {
      if (axis == dots) result.push_back(ellipsis);
      if (up_to(5) == 0) result.push_back(newaxis);
      if (axis < named) result.push_back(entry(shape[axis >= dots ? shape.rank() - named + axis : axis]));
    }
    return result;
  }

 private:
  std::optional<std::int64_t> bound(std::int64_t size) {
    switch (up_to(7)) {
      case 0: return none;
      case 1: return up_to(1) ? kMin : kMax;
      default: return up_to(2 * size + 4) - size - 2;
    }
  }
  Index entry(std::int64_t size) {
    const std::int64_t kind = up_to(5);
    if (kind == 0) return all;
    if (kind == 1 && size > 0) return Index(up_to(2 * size - 1) - size);
    static constexpr std::int64_t kSteps[] = {1, 1, 2, 3, -1, -1, -2, -3, kMin, kMax};
    return range(bound(size), bound(size), kSteps[up_to(9)]);
  }
  std::mt19937_64 engine_{20240607};
};

TEST(Indexing, AgreesWithTheModelOnRandomExpressions) {
  RandomIndex random;
  std::size_t elements = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Tensor x = counting(random.shape());
    const std::vector<Index> at = random.expression(x.shape());
    const Modelled expected = model(x, at);
    const Tensor y = x.index(at);
    ASSERT_EQ(y.shape(), expected.shape) << "trial " << trial << " of " << x.shape().str();
    ASSERT_EQ(y.to_vector<float>(), expected.values) << "trial " << trial << " of " << x.shape().str();
    elements += expected.values.size();
  }
  EXPECT_GT(elements, 10000u);
}

TEST(Indexing, GradientPutsEveryElementBack) {
  RandomIndex random;
  for (int trial = 0; trial < 300; ++trial) {
    const Tensor x = counting(random.shape());
    const std::vector<Index> at = random.expression(x.shape());
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x.index(at);
    const Tensor dx = tape.gradient(sum(y * y), x);
    std::vector<float> expected(static_cast<std::size_t>(x.size()), 0);
    for (float value : model(x, at).values) expected[static_cast<std::size_t>(value)] = 2 * value;  // x counts: a value is its place
    ASSERT_EQ(dx.to_vector<float>(), expected) << "trial " << trial;
  }
}

TEST(Indexing, ReadsAsPython) {
  const Tensor x = counting({2, 3, 4});
  expect_equal(x[0][1], {4}, {4, 5, 6, 7});
  expect_equal(x[-1][-1][-1], {}, {23});
  expect_equal(x(all, 1), {2, 4}, {4, 5, 6, 7, 16, 17, 18, 19});
  expect_equal(x(ellipsis, -1), {2, 3}, {3, 7, 11, 15, 19, 23});
  expect_equal(x(range(none, none, -1), range(1, none), range(none, none, 2)), {2, 2, 2}, {16, 18, 20, 22, 4, 6, 8, 10});
  expect_equal(x(all, newaxis, range(1, 2)), {2, 1, 1, 4}, {4, 5, 6, 7, 16, 17, 18, 19});
  expect_equal(x(range(1, 1)), {0, 3, 4}, {});
  expect_equal(x(-1, ellipsis, range(0, 3, 2)), {3, 2}, {12, 14, 16, 18, 20, 22});
  expect_equal(x(ellipsis), {2, 3, 4}, x.to_vector<float>());
  expect_equal(Tensor(5.f)(newaxis, ellipsis), {1}, {5});
}

TEST(Indexing, RefusesWhatIsNotThere) {
  const Tensor x = counting({3, 2});
  EXPECT_EQ(message<IndexError>([&] { x[5]; }), "strided_slice: index 5 is out of range for axis 0 of size 3; it must be from -3 to 2.");
  EXPECT_EQ(message<IndexError>([&] { x(all, -3); }), "strided_slice: index -3 is out of range for axis 1 of size 2; it must be from -2 to 1.");
  EXPECT_EQ(message<IndexError>([&] { x[kMin]; }),
            "strided_slice: index -9223372036854775808 is out of range for axis 0 of size 3; it must be from -3 to 2.");
  EXPECT_EQ(message<IndexError>([&] { x[std::numeric_limits<std::uint64_t>::max()]; }),
            "strided_slice: index 9223372036854775807 is out of range for axis 0 of size 3; it must be from -3 to 2.");
  EXPECT_EQ(message<IndexError>([&] { x(range(0, 0))[0]; }), "strided_slice: index 0 is out of range for axis 0 of size 0, which is empty.");
  EXPECT_EQ(message<IndexError>([&] { x(0, 1, 0); }), "strided_slice: 3 indices were given for x f32[3,2], which has only 2 axes.");
  EXPECT_EQ(message<IndexError>([&] { x(ellipsis, 0, ellipsis); }),
            "strided_slice: there are 2 ellipses (ellipsis_mask); only one can stand for the axes that are not named.");
  EXPECT_EQ(message<ValueError>([&] { x(range(none, none, 0)); }), "strided_slice: the step of index 0 is 0; it must be positive or negative.");
  EXPECT_EQ(message<IndexError>([&] { x.index(std::vector<Index>(70, newaxis)); }), "strided_slice: 70 indices were given; at most 63 are possible.");
  EXPECT_EQ(message<ShapeError>([&] { x.index(std::vector<Index>(40, newaxis)); }),
            "strided_slice: the result would have rank 42; at most 32 axes are possible.");
  EXPECT_EQ(message<ValueError>([&] { strided_slice(x, {0, 0}, {1}); }),
            "strided_slice: begin, end and strides have 2, 1 and 0 entries; they must be equally long (strides may be empty).");
}

TEST(Indexing, ErrorsOfBracketsNameTheirLine) {
  const Tensor x = counting({3});
  const int line = __LINE__ + 2;
  try {
    x[3];
  } catch (const IndexError& error) {
    EXPECT_EQ(error.location().line, line);
    return;
  }
  FAIL() << "no error";
}

TEST(Indexing, GoesOverAxisZero) {
  std::vector<float> sums;
  for (const Tensor& row : counting({3, 2})) sums.push_back(sum(row).item<float>());
  EXPECT_EQ(sums, (std::vector<float>{1, 5, 9}));
  for (const Tensor& row : counting({0, 2})) FAIL() << row.shape().str();
  EXPECT_EQ(message<ShapeError>([] { for (const Tensor& t : Tensor(1.f)) t.size(); }), "begin: the tensor is a scalar; iteration goes over axis 0.");
  const Location made = Location::here();
  try {
    make_symbolic({f32, {kUnknown, 2}}, made).begin();
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.message(), "begin: the tensor is f32[?,2]; the size of axis 0 must be known to iterate over it; use map or fold.");
    EXPECT_EQ(error.location().line, made.line);
  }
}

TEST(Slice, RefusesBoxesThatReachOutside) {
  const Tensor x = counting({3, 2});
  expect_equal(slice(x, {1, 0}, {-1, 1}), {2, 1}, {2, 4});
  EXPECT_EQ(message<IndexError>([&] { slice(x, {1, 0}, {3, 1}); }),
            "slice: begin 1 and size 3 reach beyond axis 0 of x f32[3,2]; use a smaller size or -1.");
  EXPECT_EQ(message<IndexError>([&] { slice(x, {0, -1}, {1, 1}); }), "slice: begin -1 is out of range for axis 1 of x f32[3,2]; it must be from 0 to the size.");
  EXPECT_EQ(message<ShapeError>([&] { slice(x, {0, 0}, {1, kMin}); }),
            "slice: size has -9223372036854775808; sizes must be 0 or more, or -1 for the rest.");
  EXPECT_EQ(message<IndexError>([&] { slice(x, {3, 0}, {kMax, 1}); }),
            "slice: begin 3 and size 9223372036854775807 reach beyond axis 0 of x f32[3,2]; use a smaller size or -1.");
  EXPECT_EQ(message<ShapeError>([&] { slice(x, 0, 1); }), "slice: begin has 1 entries and size 1; x f32[3,2] needs one for each axis.");
}

// What does not depend on the sizes of x is looked at first, so that an error is the same where they are not known; and the shape of value before positions.
TEST(Slice, UpdatesNameTheShapeThatFits) {
  const Tensor x = counting({3, 4});
  const StridedSliceUpdateOptions first{.shrink_axis_mask = 1};
  expect_equal(strided_slice_update(x, zeros({4}), -1, 0, first)[2], {4}, {0, 0, 0, 0});
  EXPECT_EQ(message<ShapeError>([&] { strided_slice_update(x, zeros({2, 4}), 0, 0, first); }),
            "strided_slice_update: value f32[2,4] must be [4], the shape of the slice of x f32[3,4].");
  EXPECT_EQ(message<ShapeError>([&] { strided_slice_update(x, zeros({3}), 3, 0, first); }),
            "strided_slice_update: value f32[3] must be [4], the shape of the slice of x f32[3,4].");
  EXPECT_EQ(message<ShapeError>([&] { strided_slice_update(make_symbolic({f32, {kUnknown, 4}}, {}), zeros({3}), 3, 0, first); }),
            "strided_slice_update: value f32[3] must be [4], the shape of the slice of x f32[?,4].");
  EXPECT_EQ(message<IndexError>([&] { strided_slice_update(x, zeros({4}), 3, 0, first); }),
            "strided_slice_update: index 3 is out of range for axis 0 of size 3; it must be from -3 to 2.");
  EXPECT_EQ(message<ShapeError>([&] { strided_slice_grad(zeros({2, 4}), x, 0, 0, {.shrink_axis_mask = 1}); }),
            "strided_slice_grad: dy f32[2,4] must be [4], the shape of the slice of like f32[3,4].");
  EXPECT_EQ(message<ValueError>([&] { strided_slice(x, {9, 0}, {0, 2}, {.strides = {1, 0}, .shrink_axis_mask = 1}); }),
            "strided_slice: the step of index 1 is 0; it must be positive or negative.");
}

TEST(Pad, MirrorsAndRefuses) {
  const Tensor x = {1.f, 2.f, 3.f};
  expect_equal(pad(x, {{2, 1}}, {.mode = PadMode::kReflect}), {6}, {3, 2, 1, 2, 3, 2});
  expect_equal(pad(x, {{3, 2}}, {.mode = PadMode::kSymmetric}), {8}, {3, 2, 1, 1, 2, 3, 3, 2});
  expect_equal(pad(x(range(0, 0)), {{1, 1}}, {.constant_values = 4}), {2}, {4, 4});
  EXPECT_EQ(pad(Tensor({true}), {{0, 1}}, {.constant_values = 1}).to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ(message<ShapeError>([&] { pad(x, {{0, 3}}, {.mode = PadMode::kReflect}); }),
            "pad: paddings has 3 for axis 0 of x f32[3]; this mode can repeat at most 2 elements there.");
  EXPECT_EQ(message<ShapeError>([&] { pad(x, {{0, -1}}); }), "pad: paddings has -1; amounts must be 0 or more.");
  EXPECT_EQ(message<ShapeError>([&] { pad(x, {}); }), "pad: paddings has 0 pairs; 1 are needed, one for each axis.");
  EXPECT_EQ(message<ShapeError>([&] { pad(x, {{kMax, kMax}}); }), "pad: the size 9223372036854775807 + 3 does not fit 63 bits; use smaller shapes.");
  EXPECT_EQ(message<ValueError>([&] { pad(Tensor({1, 2}), {{1, 1}}, {.constant_values = 0.5}); }),
            "pad: constant_values is 0.5, which x i32[2] cannot hold; pass another number or cast x.");
}

TEST(Roll, TakesAnyShift) {
  const Tensor x = counting({5});
  expect_equal(roll(x, -7, 0), {5}, {2, 3, 4, 0, 1});
  const std::int64_t least = ((kMin % 5) + 5) % 5;  // -2^63 counted in steps to the right
  expect_equal(roll(x, kMin, 0), {5}, roll(x, least, 0).to_vector<float>());
  expect_equal(roll(x, {kMax, kMax}, {0, 0}), {5}, roll(x, 2 * (kMax % 5), 0).to_vector<float>());
  GradientTape tape;
  tape.watch(x);
  const Tensor dx = tape.gradient(sum(roll(x, kMin, 0) * x), x);
  expect_equal(dx, {5}, (roll(x, kMin, 0) + roll(x, -least, 0)).to_vector<float>());
  EXPECT_EQ(message<ValueError>([&] { roll(x, {1, 2}, 0); }), "roll: shift has 2 entries and axis 1; give one shift for each axis.");
  EXPECT_EQ(message<IndexError>([&] { roll(x, 1, 1); }), "roll: axis has 1, but must be from -1 to 0 for x f32[5].");
}

TEST(ReverseSequence, ChecksEveryLength) {
  const Tensor x = counting({2, 3});
  expect_equal(reverse_sequence(x, Tensor({2, 0}), 1), {2, 3}, {1, 0, 2, 3, 4, 5});
  EXPECT_EQ(message<IndexError>([&] { reverse_sequence(x, Tensor({2, 4}), 1); }),
            "reverse_sequence: lengths[1] is 4; it must be from 0 to 3, the size of seq_axis.");
  EXPECT_EQ(message<IndexError>([&] { reverse_sequence(x, Tensor({-1, 2}), 1); }),
            "reverse_sequence: lengths[0] is -1; it must be from 0 to 3, the size of seq_axis.");
  EXPECT_EQ(message<ValueError>([&] { reverse_sequence(x, Tensor({1, 2}), 0); }), "reverse_sequence: seq_axis and batch_axis are both 0; they must differ.");
}

TEST(Split, CutsAndRefuses) {
  const Tensor x = counting({2, 4});
  const std::vector<Tensor> halves = split(x, 2, {.axis = 1});
  ASSERT_EQ(halves.size(), 2u);
  expect_equal(halves[1], {2, 2}, {2, 3, 6, 7});
  const std::vector<Tensor> parts = split(x, {1, 0, -1}, {.axis = -1});
  ASSERT_EQ(parts.size(), 3u);
  expect_equal(parts[1], {2, 0}, {});
  expect_equal(parts[2], {2, 3}, {1, 2, 3, 5, 6, 7});
  EXPECT_EQ(message<ShapeError>([&] { split(x, 3, {.axis = 1}); }), "split: x f32[2,4] cannot be cut into 3 equal parts along axis 1; give a list of sizes.");
  EXPECT_EQ(message<ValueError>([&] { split(x, 0); }), "split: sizes is 0; the number of parts must be 1 or more.");
  EXPECT_EQ(message<ShapeError>([&] { split(x, {1, 2}); }), "split: sizes add up to 3, but x f32[2,4] has 2 rows along axis 0; they must agree.");
  EXPECT_EQ(message<ShapeError>([&] { split(x, {kMax, kMax}); }),
            "split: the size 9223372036854775807 + 9223372036854775807 does not fit 63 bits; use smaller shapes.");
  EXPECT_EQ(message<ShapeError>([&] { split(counting({0, 2}), kMax); }), "split: sizes asks for more than 1048576 tensors; ask for fewer.");
}

TEST(Unstack, GivesOneTensorForEachRow) {
  const std::vector<Tensor> rows = unstack(counting({2, 3}), {.axis = 1});
  ASSERT_EQ(rows.size(), 3u);
  expect_equal(rows[2], {2}, {2, 5});
  EXPECT_TRUE(unstack(counting({0, 3})).empty());
  EXPECT_EQ(unstack(counting({3, 0})).size(), 3u);
  EXPECT_EQ(message<ShapeError>([] { unstack(counting({2}), {.num = 3}); }), "unstack: num is 3, but axis 0 of x f32[2] has another size; they must agree.");
  EXPECT_EQ(message<ShapeError>([] { unstack(counting({kMax / 8, 0})); }),
            "unstack: 1152921504606846975 tensors would be returned; at most 1048576 are possible.");
  expect_equal(stack(rows, {.axis = 1}), {2, 3}, counting({2, 3}).to_vector<float>());
}

TEST(Shapes, HugeResultsAreRefusedBeforeTheyExist) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(message<ShapeError>([&] { tile(x, {kMax, 1}); }), "tile: the size 2 * 9223372036854775807 does not fit 63 bits; use smaller shapes.");
  EXPECT_EQ(message<ShapeError>([&] { tile(x, {kMax / 2, kMax / 3}); }),
            "tile: the result would be f32[9223372036854775806,9223372036854775806], whose bytes do not fit 63 bits; use smaller shapes.");
  EXPECT_EQ(message<ShapeError>([&] { tile(x, {1, -1}); }), "tile: multiples has -1; it must be 0 or more.");
  EXPECT_EQ(message<ShapeError>([&] { repeat(x, {kMax, 1}, 0); }).substr(0, 7), "repeat:");
  EXPECT_EQ(message<ShapeError>([&] { repeat(x, kMin, 0); }), "repeat: repeats has -9223372036854775808; it must be 0 or more.");
  EXPECT_EQ(squeeze(counting({1, 3, 1})).shape(), (Shape{3}));
  EXPECT_EQ(message<ShapeError>([&] { squeeze(x, {.axis = 0}); }), "squeeze: axis 0 of x f32[2,3] has size 2; only axes of size 1 can be squeezed.");
  EXPECT_EQ(message<ShapeError>([] { squeeze(make_symbolic({f32, {kUnknown, 1}}, {})); }),
            "squeeze: x f32[?,1] has unknown sizes, any of which may be 1; name the axes to squeeze.");
  EXPECT_EQ(message<ValueError>([&] { transpose(x, {.perm = {0, 0}}); }), "transpose: perm names axis 0 twice; name each axis once.");
  EXPECT_EQ(message<ShapeError>([&] { reshape(counting({0}), {0, kMax, 2}); }),
            "reshape: the result would be f32[0,9223372036854775807,2], whose bytes do not fit 63 bits; use smaller shapes.");
  const Tensor image = counting({1, 2, 2, 4});
  EXPECT_EQ(message<ShapeError>([&] { space_to_depth(image, 3); }),
            "space_to_depth: axis 1 of x f32[1,2,2,4] has size 2, which is no multiple of 3; pad it or use other blocks.");
  EXPECT_EQ(message<ShapeError>([&] { depth_to_space(image, kMax); }).substr(0, 16), "depth_to_space: ");
  EXPECT_EQ(message<ValueError>([&] { space_to_batch(image, {2, 0}, {{0, 0}, {0, 0}}); }), "space_to_batch: block_shape has 0; it must be 1 or more.");
  EXPECT_EQ(message<ShapeError>([&] { batch_to_space(image, 1, {{1, 2}}); }), "batch_to_space: crops take 3 from axis 1, which has only 2; crop less.");
}

TEST(Shapes, LargeTransposesAreExact) {
  const Tensor x = counting({67, 3, 130});
  const Tensor y = transpose(x);
  for (int i = 0; i < 67; i += 11)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 130; k += 7) ASSERT_EQ(y(k, j, i).item<float>(), x(i, j, k).item<float>());
  expect_equal(transpose(transpose(x, {.perm = {2, 0, 1}}), {.perm = {1, 2, 0}}), x.shape(), x.to_vector<float>());
}

TEST(Shapes, BlocksMoveThereAndBack) {
  const Tensor x = counting({2, 5, 4, 3});
  const Tensor blocks = space_to_batch(x, {3, 2}, {{0, 1}, {3, 1}});
  EXPECT_EQ(blocks.shape(), (Shape{12, 2, 4, 3}));
  expect_equal(batch_to_space(blocks, {3, 2}, {{0, 1}, {3, 1}}), x.shape(), x.to_vector<float>());
  expect_equal(depth_to_space(space_to_depth(x(all, range(0, 4)), 2), 2), {2, 4, 4, 3}, x(all, range(0, 4)).to_vector<float>());
}

}  // namespace
}  // namespace weft
