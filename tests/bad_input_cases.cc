#include "tests/bad_input_cases.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/samples.h"

namespace weft::bad_input {
namespace {

using test::Arguments;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin32 = std::numeric_limits<std::int32_t>::min(), kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t k32 = std::int64_t{1} << 32, k40 = std::int64_t{1} << 40, k62 = std::int64_t{1} << 62;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

bool is_list(AttrKind kind) {
  return kind == AttrKind::kList || kind == AttrKind::kAxes || kind == AttrKind::kShape || kind == AttrKind::kPairs;
}
bool is_axis(AttrKind kind) { return kind == AttrKind::kAxis || kind == AttrKind::kAxes; }
bool counts(AttrKind kind) { return kind == AttrKind::kInteger || is_list(kind) || is_axis(kind); }  // its value is made of integers
bool is_size(AttrKind kind) { return counts(kind) && !is_axis(kind); }

template <class Test>
bool any_attr(const Op& op, const Test& test) {
  return std::any_of(op.attrs.begin(), op.attrs.end(), [&](const AttrDef& def) { return test(def.kind); });
}
bool any_slot(const Op& op, DTypes set) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Input& input) { return (allowed(op, input) & set) != 0; });
}
bool is_index(const Input& input) { return input.type == Input::Type::kIndex || input.type == Input::Type::kInt; }
bool has_inputs(const Op& op) { return !op.inputs.empty(); }
bool sorted(const SampleInput& input) { return input.form == SampleInput::Form::kSorted; }

// The values of a tensor, over and over, under another spec.
Tensor recast(const Tensor& from, Spec spec) {
  std::vector<double> old = test::values(from);
  if (old.empty()) old.push_back(0);
  std::vector<double> fresh(static_cast<std::size_t>(spec.shape.num_elements()));
  for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i] = old[i % old.size()];
  return test::with_values(std::move(spec), fresh);
}

Tensor filled(const Tensor& like, const std::vector<double>& values) {
  std::vector<double> fresh(static_cast<std::size_t>(like.size()));
  for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i] = values[i % values.size()];
  return test::with_values(like.spec(), fresh);
}

/// Collects the cases of one class from each valid call of the row.
class Maker {
 public:
  Maker(const Op& op, char letter) : op_(op), letter_(letter) {
    for (const Sample& sample : op.samples) {
      std::vector<DType> dtypes = test::dtypes_of(op);
      std::stable_partition(dtypes.begin(), dtypes.end(), [](DType t) { return t == f32; });
      for (DType dtype : dtypes)
        if (auto base = test::make_arguments(op, sample, {.dtype = dtype})) {
          bases_.push_back(std::move(*base));
          samples_.push_back(&sample);
          break;
        }
    }
  }

  std::vector<Case> make() {
    for (std::size_t b = 0; b < bases_.size(); ++b) {
      base_ = &bases_[b];
      sample_ = samples_[b];
      one_base();
    }
    return std::move(cases_);
  }

 private:
  void add(std::string what, Tensors inputs, std::vector<Attr> attrs, bool twice = false) {
    cases_.push_back({letter_, std::move(what), std::move(inputs), std::move(attrs), twice});
  }
  void with_input(std::size_t i, Tensor value, const std::string& how) {
    Tensors inputs = base_->inputs;
    inputs[i] = std::move(value);
    add(std::string(input_of(op_, i).name) + " " + how, std::move(inputs), base_->attrs);
  }
  void with_shape(std::size_t i, const Shape& shape) {
    with_input(i, recast(base_->inputs[i], {base_->inputs[i].dtype(), shape}), shape.str());
  }
  void with_attr(std::size_t a, Attr value) {
    std::vector<Attr> attrs = base_->attrs;
    attrs[a] = std::move(value);
    std::string what = std::string(op_.attrs[a].name) + " " + attr_text(op_.attrs[a], attrs[a]).substr(0, 60);
    add(std::move(what), base_->inputs, std::move(attrs));
  }
  // The value in each place where the attribute holds an integer, and in all of them.
  void with_integer(std::size_t a, std::int64_t value) {
    if (!is_list(op_.attrs[a].kind)) return with_attr(a, value);
    const Ints* list = std::get_if<Ints>(&base_->attrs[a]);
    const Ints old = list != nullptr && !list->empty() ? *list : Ints{value};
    for (std::size_t at = 0; at < old.size(); ++at) {
      Ints fresh = old;
      fresh[at] = value;
      with_attr(a, fresh);
    }
    if (old.size() > 1) with_attr(a, Ints(old.size(), value));
    else with_attr(a, Ints{value, value});
  }
  template <class Which>
  void with_integers(const Which& which, std::initializer_list<std::int64_t> values) {
    for (std::size_t a = 0; a < op_.attrs.size(); ++a)
      if (which(op_.attrs[a].kind))
        for (std::int64_t value : values) with_integer(a, value);
  }
  template <class Each>
  void each_input(const Each& each) {
    for (std::size_t i = 0; i < base_->inputs.size(); ++i) each(i, base_->inputs[i]);
  }
  template <class Each>
  void each_dim(const Each& each) {
    each_input([&](std::size_t i, const Tensor& x) {
      for (int axis = 0; axis < x.rank(); ++axis) each(i, x.shape(), axis);
    });
  }
  void all_inputs(const std::string& what, const std::function<Tensor(const Tensor&)>& change) {
    Tensors inputs;
    for (const Tensor& x : base_->inputs) inputs.push_back(change(x));
    if (!inputs.empty()) add(what, std::move(inputs), base_->attrs);
  }

  void one_base() {
    switch (letter_) {
      case 'A': return zeros();
      case 'B': return empties();
      case 'C': return ranks();
      case 'D': return sizes();
      case 'E': return disorder();
      case 'F': return positions();
      case 'G': return with_integers(is_size, {-1, -2, kMin});
      case 'H': return overflows();
      case 'I': return extremes();
      case 'J': return memory();
      case 'K': return dtypes();
      case 'L': return each_input([&](std::size_t i, const Tensor&) { with_input(i, Tensor(), "undefined"); });
      case 'M': return malformed();
      case 'Q': return add("valid", base_->inputs, base_->attrs, true);
      case 'U': return not_numbers();
      case 'X': return options();
      default: throw InternalError("a class of bad input without a generator");
    }
  }

  void zeros() {
    each_dim([&](std::size_t i, Shape shape, int axis) {
      shape.set(axis, 0);
      with_shape(i, shape);
    });
    each_input([&](std::size_t i, const Tensor& x) {
      if (x.rank() == 0) with_shape(i, {0});
      else with_input(i, filled(x, {0}), "all zero");
    });
    with_integers(is_size, {0});
    for (std::size_t a = 0; a < op_.attrs.size(); ++a)
      if (op_.attrs[a].kind == AttrKind::kReal) with_attr(a, 0.0);
  }

  void empties() {
    each_input([&](std::size_t i, const Tensor& x) {
      with_shape(i, {0});
      with_shape(i, Shape(Ints(static_cast<std::size_t>(std::max(1, x.rank())), 0)));
    });
    for (int axis = 0; axis < 4; ++axis)
      all_inputs("axis " + std::to_string(axis) + " of all inputs empty", [&](const Tensor& x) {
        Shape shape = x.shape();
        if (axis < shape.rank()) shape.set(axis, 0);
        return recast(x, {x.dtype(), shape});
      });
    for (std::size_t a = 0; a < op_.attrs.size(); ++a)
      if (is_list(op_.attrs[a].kind)) with_attr(a, Ints{});
    if (op_.list_input()) {
      Tensors inputs = base_->inputs;
      while (inputs.size() >= op_.inputs.size()) inputs.resize(inputs.size() - 1);
      add(std::string(op_.inputs.back().name) + " without tensors", std::move(inputs), base_->attrs);
    }
  }

  static Shape of_rank(const Shape& shape, int rank) {
    Ints dims(static_cast<std::size_t>(rank), 1);
    for (int k = 1; k <= std::min(rank, shape.rank()); ++k) dims[static_cast<std::size_t>(rank - k)] = shape[shape.rank() - k];
    return Shape(dims);
  }

  void ranks() {
    each_input([&](std::size_t i, const Tensor& x) {
      for (int rank = 0; rank <= 8; ++rank) with_shape(i, of_rank(x.shape(), rank));
      with_shape(i, {1});
      with_shape(i, {2});
    });
    for (int rank : {0, 1, 8, kMaxRank})
      all_inputs("all inputs of rank " + std::to_string(rank), [&](const Tensor& x) { return recast(x, {x.dtype(), of_rank(x.shape(), rank)}); });
  }

  void sizes() {
    each_input([&](std::size_t i, const Tensor& x) {
      if (x.rank() == 0) with_shape(i, {2});
    });
    each_dim([&](std::size_t i, const Shape& shape, int axis) {
      for (std::int64_t size : {shape[axis] - 1, shape[axis] + 1, shape[axis] * 2 + 3}) {
        Shape other = shape;
        other.set(axis, std::max<std::int64_t>(size, 0));
        with_shape(i, other);
      }
      zero_times(i, shape, axis, std::int64_t{1} << 20);
    });
  }

  // A size beyond all memory costs none beside a zero.
  void zero_times(std::size_t i, Shape shape, int axis, std::int64_t size) {
    for (int zero : {0, shape.rank() - 1}) {
      if (zero == axis) continue;
      Shape other = shape;
      other.set(axis, size);
      other.set(zero, 0);
      with_shape(i, other);
    }
  }

  void disorder() {
    for (std::size_t i = 0; i < sample_->inputs.size(); ++i) {
      if (!sorted(sample_->inputs[i])) continue;
      std::vector<double> values = test::values(base_->inputs[i]);
      std::reverse(values.begin(), values.end());
      with_input(i, test::with_values(base_->inputs[i].spec(), values), "in falling order");
      with_input(i, filled(base_->inputs[i], {3, -1, 0, 3}), "unsorted");
    }
  }

  void positions() {
    int rank = 0;
    each_input([&](std::size_t, const Tensor& x) { rank = std::max(rank, x.rank()); });
    with_integers(is_axis, {-rank - 1, -rank - 2, rank, rank + 1, kMin32, kMax32, k32 + 1, kMin, kMax, 0});
    each_input([&](std::size_t i, const Tensor& x) {
      if (!is_index(input_of(op_, i)) || x.size() == 0) return;
      for (DType dtype : {i32, i64})
        for (std::int64_t value : {std::int64_t{-1}, std::int64_t{-1000}, std::int64_t{1000}, kMin32, kMax32, k32 + 1, kMin}) {
          if (!(allowed(op_, input_of(op_, i)) & bit(dtype)) || (dtype == i32 && (value > kMax32 || value < kMin32))) continue;
          for (std::size_t at : {std::size_t{0}, static_cast<std::size_t>(x.size()) - 1}) {
            std::vector<double> values = test::values(x);
            values[at] = static_cast<double>(value);
            with_input(i, test::with_values({dtype, x.shape()}, values), "[" + std::to_string(at) + "] = " + std::to_string(value));
          }
        }
    });
  }

  void overflows() {
    with_integers(is_size, {kMax32 + 1, k32, k62, kMax});
    for (std::size_t a = 0; a < op_.attrs.size(); ++a)
      if (is_list(op_.attrs[a].kind) && is_size(op_.attrs[a].kind))
        for (const Ints& wraps : {Ints{k32, k32}, Ints{k62, 4}, Ints{k62, 2}, Ints{kMax, kMax}, Ints{0, k62, 4}, Ints{k62, 4, 0}, Ints{3, k62, 3}}) with_attr(a, wraps);
    each_input([&](std::size_t i, const Tensor&) {
      with_shape(i, {0, k62});
      with_shape(i, {k62, 0});
    });
    each_dim([&](std::size_t i, const Shape& shape, int axis) { zero_times(i, of_rank({1}, shape.rank()), axis, k62); });
  }

  void extremes() {
    with_integers(counts, {kMin32, kMax32, k32 + 1, kMin, kMax});
    each_input([&](std::size_t i, const Tensor& x) {
      for (DType dtype : {i8, i32, i64, u8, u64}) {
        if (!(allowed(op_, input_of(op_, i)) & bit(dtype))) continue;
        const double low = dtype == i8 ? -128 : dtype == i32 ? static_cast<double>(kMin32) : dtype == i64 ? -0x1p63 : 0;
        const double high = dtype == i8 ? 127 : dtype == i32 ? static_cast<double>(kMax32) : dtype == i64 ? 0x1p63 : dtype == u8 ? 255 : 0x1p64;
        const bool common = input_of(op_, i).type == Input::Type::kCommon;
        for (const std::vector<double>& values : {std::vector{low}, std::vector{high}, std::vector{low, -1.0, high}}) {
          Tensors inputs;
          for (std::size_t k = 0; k < base_->inputs.size(); ++k) {
            const Tensor& other = base_->inputs[k];
            const bool follows = common && input_of(op_, k).type == Input::Type::kCommon;
            inputs.push_back(k == i ? filled(recast(x, {dtype, x.shape()}), values) : follows ? filled(recast(other, {dtype, other.shape()}), {-1}) : other);
          }
          add(std::string(input_of(op_, i).name) + " " + std::string(name_of(dtype)) + " extremes", std::move(inputs), base_->attrs);
        }
      }
    });
  }

  void memory() {
    with_integers(is_size, {k40});
    each_input([&](std::size_t i, const Tensor&) {
      with_shape(i, {0, k40});
      with_shape(i, {k40, 0});
    });
    each_dim([&](std::size_t i, const Shape& shape, int axis) { zero_times(i, shape, axis, k40); });
    all_inputs("[2^40,0] everywhere", [](const Tensor& x) { return recast(x, {x.dtype(), {k40, 0}}); });
    all_inputs("[0,2^40] everywhere", [](const Tensor& x) { return recast(x, {x.dtype(), {0, k40}}); });
  }

  void dtypes() {
    for (int t = 0; t < kNumDTypes; ++t) {
      const auto dtype = static_cast<DType>(t);
      each_input([&](std::size_t i, const Tensor& x) { with_input(i, recast(x, {dtype, x.shape()}), std::string(name_of(dtype))); });
      all_inputs("all inputs " + std::string(name_of(dtype)), [&](const Tensor& x) { return recast(x, {dtype, x.shape()}); });
    }
    for (std::size_t a = 0; a < op_.attrs.size(); ++a)
      for (int t = 0; op_.attrs[a].kind == AttrKind::kDType && t < kNumDTypes; ++t) with_attr(a, static_cast<DType>(t));
  }

  void malformed() {
    const Attr others[] = {std::monostate(), true, std::int64_t{1}, 0.5, DType::i32, Ints{1}, std::string("one")};
    for (std::size_t a = 0; a < op_.attrs.size(); ++a)
      for (const Attr& other : others)
        if (other.index() != base_->attrs[a].index()) with_attr(a, other);
    std::vector<Attr> more = base_->attrs;
    more.emplace_back(std::int64_t{1});
    add("one attribute too many", base_->inputs, more);
    if (!op_.attrs.empty()) add("one attribute too few", base_->inputs, {base_->attrs.begin(), base_->attrs.end() - 1});
    Tensors inputs = base_->inputs;
    inputs.push_back(Tensor(1.f, f32));
    add("one input too many", inputs, base_->attrs);
    if (!base_->inputs.empty()) add("no inputs", {}, base_->attrs);
  }

  void not_numbers() {
    const std::vector<double> choices[] = {{kNaN}, {kInf}, {-kInf}, {1e38}, {-1e38}, {kNaN, 1, kInf, -kInf, 0, -0.0, 1e38, 1e-45}};
    const auto spoil = [](const Tensor& x, const std::vector<double>& values) { return is_floating(x.dtype()) ? filled(x, values) : x; };
    for (const std::vector<double>& values : choices) {
      each_input([&](std::size_t i, const Tensor& x) {
        if (is_floating(x.dtype())) with_input(i, spoil(x, values), "of " + std::to_string(values[0]));
      });
      all_inputs("all inputs of " + std::to_string(values[0]), [&](const Tensor& x) { return spoil(x, values); });
    }
  }

  void options() {
    using namespace std::string_literals;
    for (std::size_t a = 0; a < op_.attrs.size(); ++a) {
      const AttrDef& def = op_.attrs[a];
      switch (def.kind) {
        case AttrKind::kFlag: with_attr(a, true), with_attr(a, false); break;
        case AttrKind::kReal:
          for (double v : {kNaN, kInf, -kInf, 0.0, -0.0, -1.0, 1e308, -1e308, 1e-320, static_cast<double>(kMax32)}) with_attr(a, v);
          break;
        case AttrKind::kDType: with_attr(a, static_cast<DType>(kNumDTypes)), with_attr(a, static_cast<DType>(255)); break;
        case AttrKind::kChoice:
          for (std::size_t c = 0; c <= def.choices.size(); ++c) with_attr(a, static_cast<std::int64_t>(c));
          with_attr(a, std::int64_t{-1}), with_attr(a, kMax), with_attr(a, kMin);
          break;
        case AttrKind::kText:
          for (const std::string& text : {""s, "nonsense"s, "%n%s%s"s, "\0"s, "\xff\xfe"s, "->"s, "a,b->"s, "..."s, "a->aa"s, "1,2->3"s, std::string(10000, 'a')}) with_attr(a, text);
          break;
        default:
          for (std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{7}, kMax32, kMin32}) with_integer(a, value);
          if (is_list(def.kind)) with_attr(a, Ints(40, 1));
      }
    }
  }

  const Op& op_;
  const char letter_;
  std::vector<Arguments> bases_;
  std::vector<const Sample*> samples_;
  const Arguments* base_ = nullptr;
  const Sample* sample_ = nullptr;
  std::vector<Case> cases_;
};

}  // namespace

const std::vector<Class>& classes() {
  static const std::vector<Class> all = {
      {'A', "zero sizes and zero numbers", [](const Op& op) { return has_inputs(op) || any_attr(op, is_size) || any_attr(op, [](AttrKind k) { return k == AttrKind::kReal; }); }},
      {'B', "empty tensors and lists", [](const Op& op) { return has_inputs(op) || any_attr(op, is_list); }},
      {'C', "wrong rank", has_inputs},
      {'D', "sizes that disagree", has_inputs},
      {'E', "order that is not there", [](const Op& op) { return std::any_of(op.samples.begin(), op.samples.end(), [](const Sample& s) { return std::any_of(s.inputs.begin(), s.inputs.end(), sorted); }); }},
      {'F', "axis or index out of range", [](const Op& op) { return any_attr(op, is_axis) || std::any_of(op.inputs.begin(), op.inputs.end(), is_index); }},
      {'G', "negative sizes", [](const Op& op) { return any_attr(op, is_size); }},
      {'H', "products that overflow", [](const Op& op) { return has_inputs(op) || any_attr(op, is_size); }},
      {'I', "extreme integers", [](const Op& op) { return any_attr(op, counts) || any_slot(op, kInts); }},
      {'J', "more memory than there is", [](const Op& op) { return has_inputs(op) || any_attr(op, is_size); }},
      {'K', "every dtype in every slot", [](const Op& op) { return has_inputs(op) || any_attr(op, [](AttrKind k) { return k == AttrKind::kDType; }); }},
      {'L', "undefined handles", has_inputs},
      {'M', "malformed calls, as a damaged file would make", [](const Op&) { return true; }},
      {'Q', "uninitialised memory", [](const Op&) { return true; }},
      {'U', "NaN, infinities and huge numbers", [](const Op& op) { return any_slot(op, kFloats); }},
      {'X', "values of options", [](const Op& op) { return !op.attrs.empty(); }},
  };
  return all;
}

std::vector<Case> cases(const Op& op, char letter) {
  const auto kind = std::find_if(classes().begin(), classes().end(), [&](const Class& c) { return c.letter == letter; });
  return kind->applies(op) ? Maker(op, letter).make() : std::vector<Case>();
}

}  // namespace weft::bad_input
