// Products of matrices and tensors.
#include <algorithm>
#include <array>
#include <cctype>

#include "core/strides.h"
#include "kernels/gemm.h"
#include "ops/families.h"
#include "ops/row.h"

namespace weft::inline v0::rows {
namespace {

// Calls f with a null pointer of the type in which the kernels compute: integers as their unsigned counterparts.
template <class F>
void with_factor(DType dtype, const F& f) {
  with_element(dtype, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::floating_point<T> || std::same_as<T, float16> || std::same_as<T, bfloat16>) f(tag);
    else if constexpr (std::is_integral_v<T> && !std::same_as<T, bool>) f(static_cast<std::make_unsigned_t<T>*>(nullptr));
  });
}

// --- matmul ---

struct Sides {
  bool ta, tb;  // transposed
  std::int64_t m, n, k, k_of_b;
};

Sides sides(const OpArgs& args, const Shape& a, const Shape& b) {
  const bool ta = args.flag("transpose_a"), tb = args.flag("transpose_b");
  const std::int64_t *const p = a.begin() + a.rank() - 2, *const q = b.begin() + b.rank() - 2;
  return {ta, tb, p[ta], q[!tb], p[!ta], q[tb]};
}

Shape batch_of(const Shape& shape) { return Shape(shape.sizes().first(shape.sizes().size() - 2)); }

Specs infer_matmul(const Infer& in) {
  in.require_rank_at_least(0, 2);
  in.require_rank_at_least(1, 2);
  const Sides s = sides(in, in.shape(0), in.shape(1));
  if (!infer::compatible(s.k, s.k_of_b))
    in.shape_error("cannot multiply " + in.named(0) + (s.ta ? " transposed" : "") + " by " + in.named(1) +
                   (s.tb ? " transposed" : "") + ": the inner sizes are " + std::to_string(s.k) + " and " +
                   std::to_string(s.k_of_b) + "; they must match.");
  Specs specs;
  if (in.rank(0) == 2 && in.rank(1) == 2) {
    specs.push_back({in.dtype(0), Shape{s.m, s.n}});
    return specs;
  }
  Shape result = infer::broadcast(in, batch_of(in.shape(0)), batch_of(in.shape(1)), {"the batch axes of ", 0}, {"those of ", 1});
  result.append(s.m);
  result.append(s.n);
  specs.push_back({in.dtype(0), std::move(result)});
  return specs;
}

void matmul_kernel(KernelCall& call) {
  const Shape &a = call.shape(0), &b = call.shape(1), &c = call.out_shape();
  const Sides s = sides(call, a, b);
  const bool ta = s.ta, tb = s.tb;
  const int batch_rank = c.rank() - 2;
  if (batch_rank == 0)
    return with_factor(call.dtype(), [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      kernels::gemm<T>(s.m, s.n, s.k, {call.in<T>(0), ta ? 1 : s.k, ta ? s.m : 1}, {call.in<T>(1), tb ? 1 : s.n, tb ? s.k : 1},
                       {call.out<T>(), s.n, 1}, call.done);
    });
  const std::int64_t count = c.num_elements();
  if (count == 0) return;
  std::vector<kernels::Index> indices;
  std::int64_t a_strides[kMaxRank], b_strides[kMaxRank], stride = s.m * s.n;
  broadcast_strides(batch_of(a), batch_of(c), a_strides);
  broadcast_strides(batch_of(b), batch_of(c), b_strides);
  for (int axis = batch_rank - 1; axis >= 0; stride *= c.dim(axis), --axis)
    indices.push_back({c.dim(axis), a_strides[axis] * s.m * s.k, b_strides[axis] * s.k * s.n, stride});
  indices.push_back({s.m, ta ? 1 : s.k, 0, s.n});
  indices.push_back({s.n, 0, tb ? s.k : 1, 1});
  indices.push_back({s.k, ta ? s.m : 1, tb ? 1 : s.n, 0});
  with_factor(call.dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    kernels::contract<T>(indices, call.in<T>(0), call.in<T>(1), call.out<T>());
    kernels::tell_done(call.done, call.out<T>(), count);
  });
}

// The gradient of a factor without batch axes beside one with them, as one product over batch and rows together: no batch of
// gradients is made and summed. `left` and `right` have the labels of their last two axes.
Tensor over_batch(const Tensor& left, const char* left_labels, const Tensor& right, const char* right_labels, const std::string& result) {
  std::string batch;
  for (int axis = 0; axis < left.rank() - 2; ++axis) batch += static_cast<char>(axis < 26 ? 'A' + axis : 'a' + axis - 26);
  return einsum(batch + left_labels + "," + batch + right_labels + "->" + result, {left, right});
}

Grads matmul_grad(const Backward& b) {
  const Tensor &x = b.x(0), &y = b.x(1);
  const Tensor dz = b.dy();
  const bool ta = b.flag("transpose_a"), tb = b.flag("transpose_b");
  Grad dx, dy;
  if (b.needs(0)) {
    if (x.rank() == 2 && y.rank() > 2) dx = over_batch(dz, "xz", y, tb ? "zy" : "yz", ta ? "yx" : "xy");
    else if (ta) dx = weft::matmul(y, dz, {.transpose_a = tb, .transpose_b = true});
    else dx = weft::matmul(dz, y, {.transpose_b = !tb});
  }
  if (b.needs(1)) {
    if (y.rank() == 2 && x.rank() > 2) dy = over_batch(x, ta ? "yx" : "xy", dz, "xz", tb ? "zy" : "yz");
    else if (tb) dy = weft::matmul(dz, x, {.transpose_a = true, .transpose_b = ta});
    else dy = weft::matmul(x, dz, {.transpose_a = !ta});
  }
  return {dx, dy};
}

// --- einsum ---

// An equation with its ellipses spelled out: one label for every axis.
struct Labels {
  std::vector<std::string> xs;
  std::string y;
};

constexpr std::string_view kEllipsis = "...";

// Labels that a user cannot write stand for the axes of ellipses. Letters come last: only equations made by gradients have them here.
std::string unused_labels(const std::string& equation) {
  std::string pool;
  for (char c = '~'; c > ' '; --c)
    if (std::string_view(",.->").find(c) == std::string_view::npos && equation.find(c) == std::string::npos) pool += c;
  std::stable_partition(pool.begin(), pool.end(), [](unsigned char c) { return !std::isalpha(c); });
  return pool;
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

// Checks one operand's labels or the result's: letters, and at most one ellipsis.
void check_labels(const Infer& in, const std::string& part, bool any_sign) {
  std::string letters = part;
  if (const auto at = part.find(kEllipsis); at != std::string::npos) letters.erase(at, kEllipsis.size());
  for (const unsigned char c : letters)
    if (!(std::isalpha(c) || (any_sign && c > ' ' && c <= '~' && c != '.' && c != ',' && c != '>' && c != '-')))
      in.value_error("equation " + quoted(in.text("equation")) + " has " + quoted(part) + "; labels are letters, with \"...\" at most once.");
}

std::vector<std::string> split_operands(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

// REQUIRES: the operands are the inputs from `first` on. `any_sign`: the equation was written by a gradient.
Labels parse(const Infer& in, std::size_t first, bool any_sign) {
  std::string text = in.text("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const auto refuse = [&](const std::string& why) { in.value_error("equation " + quoted(in.text("equation")) + " " + why); };
  const auto arrow = text.find("->");
  Labels labels{split_operands(text.substr(0, arrow)), arrow == std::string::npos ? "" : text.substr(arrow + 2)};
  if (labels.xs.size() != in.count() - first)
    refuse("has " + std::to_string(labels.xs.size()) + " operands, but xs has " + std::to_string(in.count() - first) + " tensors; give one for each.");

  std::size_t longest = 0;  // of the ellipses
  bool any_ellipsis = false;
  for (std::size_t i = 0; i < labels.xs.size(); ++i) {
    const std::string& part = labels.xs[i];
    check_labels(in, part, any_sign);
    const auto rank = static_cast<std::size_t>(in.rank(first + i));
    const bool open = part.find(kEllipsis) != std::string::npos;
    const std::size_t named = part.size() - (open ? kEllipsis.size() : 0);
    if (open ? named > rank : named != rank)
      in.shape_error(in.named(first + i) + " has rank " + std::to_string(rank) + ", but its labels " + quoted(part) + " name " + std::to_string(named) + " axes" +
                     (open ? "; name at most as many." : "; name every axis, or write \"...\" for the others."));
    any_ellipsis = any_ellipsis || open;
    if (open) longest = std::max(longest, rank - named);
  }
  const std::string spare = unused_labels(text).substr(0, longest);
  const auto spell_out = [&](std::string& part, std::size_t rank) {
    if (const auto at = part.find(kEllipsis); at != std::string::npos)
      part.replace(at, kEllipsis.size(), spare.substr(longest + part.size() - kEllipsis.size() - rank));
  };
  std::string letters;
  for (std::size_t i = 0; i < labels.xs.size(); ++i) {
    for (const char c : labels.xs[i])
      if (c != '.') letters += c;
    spell_out(labels.xs[i], static_cast<std::size_t>(in.rank(first + i)));
  }
  if (arrow == std::string::npos) {  // the labels that occur once, in alphabetical order, after the ellipsis
    std::sort(letters.begin(), letters.end());
    labels.y = any_ellipsis ? spare : "";
    for (const char c : letters)
      if (std::count(letters.begin(), letters.end(), c) == 1) labels.y += c;
    return labels;
  }
  check_labels(in, labels.y, any_sign);
  if (longest > 0 && labels.y.find(kEllipsis) == std::string::npos) refuse("has \"...\" in an operand, but not in the result; write it there, too.");
  spell_out(labels.y, labels.y.size() - kEllipsis.size() + longest);
  if (any_sign) return labels;
  for (const char c : labels.y) {
    if (letters.find(c) == std::string::npos && spare.find(c) == std::string::npos) refuse("has " + quoted({c}) + " in the result, but in no operand.");
    if (std::count(labels.y.begin(), labels.y.end(), c) > 1) refuse("has " + quoted({c}) + " twice in the result; name each axis once.");
  }
  return labels;
}

// The size of every label. Axes of ellipses broadcast, in an equation of a gradient all do; the others must agree.
class Sizes {
 public:
  Sizes() { sizes_.fill(1); }
  std::int64_t operator[](char label) const { return sizes_[static_cast<std::size_t>(label)]; }

  void add(const Infer& in, std::size_t input, const Shape& shape, const std::string& labels, bool broadcast) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto at = static_cast<std::size_t>(labels[static_cast<std::size_t>(axis)]);
      std::int64_t& size = sizes_[at];
      const bool repeats = broadcast || !std::isalpha(static_cast<int>(at));
      const std::int64_t next = shape.dim(axis);
      if (!seen_[at] || (repeats && size == 1)) size = next;
      else if (repeats && next == 1) continue;
      else if (infer::compatible(size, next)) size = infer::merge(size, next);
      else
        in.shape_error("axis " + std::to_string(axis) + " of " + in.named(input) + " is " + std::to_string(next) + ", but " +
                       (std::isalpha(static_cast<int>(at)) ? "label " + std::string(1, static_cast<char>(at)) : "that axis of \"...\"") + " is " +
                       std::to_string(size) + " before; sizes must match" + (repeats ? " or be 1." : "."));
      seen_[at] = true;
    }
  }

 private:
  std::array<std::int64_t, 128> sizes_;
  std::array<bool, 128> seen_{};
};

Specs infer_einsum(const Infer& in) {
  const Labels labels = parse(in, 0, false);
  Sizes sizes;
  for (std::size_t i = 0; i < in.count(); ++i) sizes.add(in, i, in.shape(i), labels.xs[i], false);
  if (labels.y.size() > static_cast<std::size_t>(kMaxRank))
    in.shape_error("the result would have rank " + std::to_string(labels.y.size()) + "; " + std::to_string(kMaxRank) + " is the most.");
  Shape result;
  for (const char label : labels.y) result.append(sizes[label]);
  infer::count(in, result);
  return {{in.dtype(0), result}};
}

Specs infer_einsum_like(const Infer& in) {
  const Labels labels = parse(in, 1, true);
  if (labels.y.size() != static_cast<std::size_t>(in.rank(0)))
    in.shape_error(in.named(0) + " has rank " + std::to_string(in.rank(0)) + ", but the result's labels are " + quoted(labels.y) + "; name every axis.");
  Sizes sizes;
  for (std::size_t i = 1; i < in.count(); ++i) sizes.add(in, i, in.shape(i), labels.xs[i - 1], true);
  sizes.add(in, 0, in.shape(0), labels.y, true);
  return {{in.dtype(1), in.shape(0)}};
}

// A tensor by labels: how far a step of each label moves through it.
struct Factor {
  Tensor value;
  std::array<std::int64_t, 128> strides{};

  Factor(Tensor tensor, const std::string& labels) : value(std::move(tensor)) {
    std::int64_t stride = 1;
    for (int axis = value.rank() - 1; axis >= 0; --axis) {
      const std::int64_t size = value.shape().dim(axis);
      if (size != 1) strides[static_cast<std::size_t>(labels[static_cast<std::size_t>(axis)])] += stride;
      stride *= std::max<std::int64_t>(size, 1);
    }
  }
  std::int64_t operator[](char label) const { return strides[static_cast<std::size_t>(label)]; }
};

template <class T>
void contract_pair(const std::string& alphabet, const Sizes& sizes, const Factor& a, const Factor* b, const Factor& c) {
  std::vector<kernels::Index> indices;
  for (const char label : alphabet) {
    const kernels::Index index{sizes[label], a[label], b == nullptr ? 0 : (*b)[label], c[label]};
    if (index.a != 0 || index.b != 0 || index.c != 0) indices.push_back(index);  // the others belong to later operands
  }
  kernels::contract<T>(indices, elements<T>(a.value), b == nullptr ? nullptr : elements<T>(b->value), static_cast<T*>(mutable_data(c.value)));
}

// Folds the operands from the left. An intermediate product keeps the labels that later operands or the result still need.
void einsum_kernel(KernelCall& call, std::size_t first, bool like) {
  SmallVector<const Spec*, 4> specs;
  for (const Tensor& input : call.inputs) specs.push_back(&input.spec());
  const Infer in{static_cast<const OpArgs&>(call), specs};
  const Labels labels = parse(in, first, like);
  const std::size_t count = labels.xs.size();
  Sizes sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.add(in, first + i, call.shape(first + i), labels.xs[i], like);
  if (like) sizes.add(in, 0, call.shape(0), labels.y, true);
  std::string alphabet;
  const auto note = [&](const std::string& part) {
    for (const char label : part)
      if (alphabet.find(label) == std::string::npos) alphabet += label;
  };
  for (const std::string& part : labels.xs) note(part);
  note(labels.y);

  const Factor result(call.outputs[0], labels.y);
  Factor so_far(call.inputs[first], labels.xs[0]);
  with_factor(call.out_dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const std::int64_t elements = call.out_shape().num_elements();
    if (elements == 0) return;
    if (like) std::fill_n(call.out<T>(), elements, T(0));  // where a label repeats in the result
    for (std::size_t i = 1; i + 1 < count; ++i) {
      std::string later = labels.y, kept;
      for (std::size_t j = i + 1; j < count; ++j) later += labels.xs[j];
      const Factor next(call.inputs[first + i], labels.xs[i]);
      Shape shape;
      std::int64_t total = 1;
      for (const char label : alphabet) {
        if ((so_far[label] == 0 && next[label] == 0) || later.find(label) == std::string::npos) continue;
        kept += label;
        shape.append(sizes[label]);
        total = infer::mul(in, total, sizes[label]);
      }
      Factor product(make_tensor({so_far.value.dtype(), shape}), kept);
      contract_pair<T>(alphabet, sizes, so_far, &next, product);
      so_far = std::move(product);
    }
    if (count == 1) return contract_pair<T>(alphabet, sizes, so_far, nullptr, result);
    const Factor last(call.inputs[first + count - 1], labels.xs[count - 1]);
    contract_pair<T>(alphabet, sizes, so_far, &last, result);
  });
}

// The gradient of each operand is the same sum with the operand and the result exchanged, laid out as the operand is.
Grads einsum_grad(const Backward& b, std::size_t first, bool like) {
  SmallVector<const Spec*, 4> specs;
  for (const Tensor& input : b.inputs) specs.push_back(&input.spec());
  const Labels labels = parse(Infer{static_cast<const OpArgs&>(b), specs}, first, like);
  Grads result(first);
  for (std::size_t i = 0; i < labels.xs.size(); ++i) {
    result.emplace_back();
    if (!b.needs(first + i)) continue;
    std::string equation = labels.y;
    std::vector<Tensor> factors{b.dy()};
    for (std::size_t j = 0; j < labels.xs.size(); ++j) {
      if (j == i) continue;
      equation += "," + labels.xs[j];
      factors.push_back(b.x(first + j));
    }
    result.back() = einsum_like(equation + "->" + labels.xs[i], b.x(first + i), factors);
  }
  return result;
}

// --- tensordot ---

// Pairs of axes, of a and of b, that are summed over.
std::vector<std::pair<int, int>> paired_axes(const Infer& in) {
  const Ints& given = in.ints("axes");
  const int p = in.rank(0), q = in.rank(1);
  std::vector<std::pair<int, int>> pairs;
  if (given.size() == 1) {
    if (given[0] < 0 || given[0] > std::min(p, q))
      in.index_error("axes is " + std::to_string(given[0]) + "; it must be from 0 to " + std::to_string(std::min(p, q)) + " for " + in.named(0) + " and " + in.named(1) + ".");
    for (int i = 0; i < static_cast<int>(given[0]); ++i) pairs.emplace_back(p - static_cast<int>(given[0]) + i, i);
    return pairs;
  }
  if (given.size() % 2 != 0) in.value_error("axes has " + std::to_string(given.size()) + " entries; give one number, or as many axes of a as of b.");
  const std::size_t half = given.size() / 2;
  const auto axis = [&](std::size_t i, std::size_t input) {
    const int rank = in.rank(input);
    if (given[i] < -rank || given[i] >= rank)
      in.index_error("axes has " + std::to_string(given[i]) + " for " + in.named(input) + ", but " +
                     (rank == 0 ? "a scalar has no axes." : "must be from " + std::to_string(-rank) + " to " + std::to_string(rank - 1) + "."));
    return static_cast<int>(given[i] < 0 ? given[i] + rank : given[i]);
  };
  for (std::size_t i = 0; i < half; ++i) {
    const std::pair<int, int> pair{axis(i, 0), axis(half + i, 1)};
    for (const auto& [x, y] : pairs)
      if (x == pair.first || y == pair.second) in.value_error("axes names an axis twice; name each axis once.");
    pairs.push_back(pair);
  }
  return pairs;
}

Specs infer_tensordot(const Infer& in) {
  const auto pairs = paired_axes(in);
  Shape result;
  for (const auto& [x, y] : pairs)
    if (!infer::compatible(in.shape(0).dim(x), in.shape(1).dim(y)))
      in.shape_error("axis " + std::to_string(x) + " of " + in.named(0) + " and axis " + std::to_string(y) + " of " + in.named(1) + " are summed over together; their sizes must match.");
  for (int axis = 0; axis < in.rank(0); ++axis)
    if (std::none_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == axis; })) result.append(in.shape(0).dim(axis));
  for (int axis = 0; axis < in.rank(1); ++axis)
    if (std::none_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.second == axis; })) result.append(in.shape(1).dim(axis));
  if (result.rank() > kMaxRank) in.shape_error("the result would have rank " + std::to_string(result.rank()) + "; " + std::to_string(kMaxRank) + " is the most.");
  infer::count(in, result);
  return {{in.dtype(0), result}};
}

// At most 48 labels: with c pairs the free axes are at most 32 and at most 64 - 2 c.
Tensors expand_tensordot(const Expand& x) {
  const Spec* specs[] = {&x[0].spec(), &x[1].spec()};
  const auto pairs = paired_axes(Infer{static_cast<const OpArgs&>(x), specs});
  int used = 0;
  const auto fresh = [&] { return static_cast<char>(used < 26 ? 'a' + used : 'A' + used - 26); };
  std::string a, b, free;
  for (int axis = 0; axis < x[0].rank(); ++axis, ++used) {
    a += fresh();
    if (std::none_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == axis; })) free += fresh();
  }
  for (int axis = 0; axis < x[1].rank(); ++axis) {
    const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.second == axis; });
    if (pair != pairs.end()) {
      b += a[static_cast<std::size_t>(pair->first)];
      continue;
    }
    b += fresh();
    free += fresh();
    ++used;
  }
  return {einsum(a + "," + b + "->" + free, {x[0], x[1]}, x.at)};
}

// --- batches ---

// A label more, of the operands that have the axis and of the result. Where there is none left it goes call by call.
Tensors batch_einsum(const Batch& b, std::size_t first) {
  std::string text = b.text("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  std::string free = unused_labels(text);
  if (first == 0) free.erase(std::remove_if(free.begin(), free.end(), [](unsigned char c) { return !std::isalpha(c); }), free.end());
  if (free.empty()) return {};
  const auto arrow = text.find("->");
  const std::vector<std::string> parts = split_operands(text.substr(0, arrow));
  std::string result;
  if (arrow != std::string::npos) {
    result = text.substr(arrow + 2);
  } else {
    std::string letters;
    for (const char c : text)
      if (c != '.' && c != ',') letters += c;
    std::sort(letters.begin(), letters.end());
    if (text.find(kEllipsis) != std::string::npos) result = kEllipsis;
    for (const char c : letters)
      if (std::count(letters.begin(), letters.end(), c) == 1) result += c;
  }
  std::string equation;
  for (std::size_t i = 0; i < parts.size(); ++i) equation += (i == 0 ? "" : ",") + (b.batched[first + i] ? free[0] + parts[i] : parts[i]);
  std::vector<Tensor> inputs(b.inputs.begin(), b.inputs.end());
  if (first == 1) inputs[0] = batch::whole(b, 0);
  return batch::again(b, inputs, batch::with(b, "equation", equation + "->" + free[0] + result));
}

}  // namespace

std::vector<Op> matmul() {
  return {
      {.name = "matmul",
       .doc = "The product of matrices in the last two axes, either transposed first if asked; the axes before them broadcast. A sum of no products is 0; integers wrap.",
       .tf = "tf.matmul(a, b, transpose_a, transpose_b) | tf.linalg.matmul(a, b, transpose_a, transpose_b)",
       .inputs = {"a", "b"},
       .attrs = {attr::flag("transpose_a", false), attr::flag("transpose_b", false)},
       .dtypes = kNumbers,
       .infer = infer_matmul,
       .kernel = matmul_kernel,
       .grad = matmul_grad,
       .batch = batch::broadcast,
       .traits = kBroadcasts | kMoves | kTellsBlocks,
       .samples = {{{f32({2, 3}), f32({3, 4})}},
                   {{f32({2, 1, 3, 2}), f32({5, 4, 3})}, {{"transpose_a", true}, {"transpose_b", true}}},
                   {{f32({2, 2, 3}), f32({3, 2})}},
                   {{f32({2, 3}), f32({4, 2, 3})}, {{"transpose_b", true}}}}},

      {.name = "matvec",
       .doc = "The product of matrices in the last two axes of a with vectors in the last axis of b; the axes before them broadcast.",
       .tf = "tf.linalg.matvec(a, b, transpose_a)",
       .inputs = {"a", "b"},
       .attrs = {attr::flag("transpose_a", false)},
       .dtypes = kNumbers,
       .infer = [](const Infer& in) -> Specs {
         in.require_rank_at_least(0, 2);
         in.require_rank_at_least(1, 1);
         const bool turned = in.flag("transpose_a");
         const Shape &a = in.shape(0), &b = in.shape(1);
         const std::int64_t rows = a.dim(a.rank() - (turned ? 1 : 2)), cols = a.dim(a.rank() - (turned ? 2 : 1));
         if (!infer::compatible(cols, b.dim(b.rank() - 1)))
           in.shape_error("cannot multiply " + in.named(0) + (turned ? " transposed" : "") + " by " + in.named(1) + ": the inner sizes are " +
                          std::to_string(cols) + " and " + std::to_string(b.dim(b.rank() - 1)) + "; they must match.");
         const Shape batch(b.sizes().first(b.sizes().size() - 1));
         Shape result = infer::broadcast(in, batch_of(a), batch, {"the batch axes of ", 0}, {"those of ", 1});
         result.append(rows);
         return {{in.dtype(0), result}};
       },
       .expand = [](const Expand& x) -> Tensors {
         return {einsum(x.flag("transpose_a") ? "...ji,...j->...i" : "...ij,...j->...i", {x[0], x[1]}, x.at)};
       },
       .samples = {{{f32({2, 3}), f32({3})}}, {{f32({4, 3, 2}), f32({2, 1, 3})}, {{"transpose_a", true}}}}},

      {.name = "einsum",
       .doc = "The sum of products that an equation such as \"ij,jk->ik\" describes: labels name axes, those missing in the result are summed over, a label twice in "
              "one operand takes its diagonal, \"...\" stands for axes that broadcast. Without \"->\" the result has the labels that occur once, in alphabetical order.",
       .tf = "tf.einsum(equation, xs)",
       .inputs = {"xs..."},
       .attrs = {attr::text("equation")},
       .order = "equation xs",
       .dtypes = kNumbers,
       .infer = infer_einsum,
       .kernel = [](KernelCall& call) { einsum_kernel(call, 0, false); },
       .grad = [](const Backward& b) -> Grads { return einsum_grad(b, 0, false); },
       .batch = [](const Batch& b) -> Tensors { return batch_einsum(b, 0); },
       .samples = {{{f32({2, 3}), f32({3, 4})}, {{"equation", "ij,jk->ik"}}},
                   {{f32({2, 1, 3, 2}), f32({4, 2, 3})}, {{"equation", "...ij,...jk"}}},
                   {{f32({3, 2, 3})}, {{"equation", "iji->j"}}},
                   {{f32({2, 3}), f32({3, 2}), f32({2, 4})}, {{"equation", "ab,bc,cd->da"}}}}},

      {.name = "einsum_like",
       .doc = "The einsum of xs laid out in the shape of like: labels of the result may repeat (zeros off that diagonal) or be missing in xs (the values repeat along "
              "them), and an axis of size 1 stands for the sum over its label. The transpose of einsum in one of its operands.",
       .inputs = {"like:any", "xs..."},
       .attrs = {attr::text("equation")},
       .order = "equation like xs",
       .dtypes = kNumbers,
       .infer = infer_einsum_like,
       .kernel = [](KernelCall& call) { einsum_kernel(call, 1, true); },
       .grad = [](const Backward& b) -> Grads { return einsum_grad(b, 1, true); },
       .batch = [](const Batch& b) -> Tensors { return batch_einsum(b, 1); },
       .samples = {{{f32({2, 3}), f32({2, 4}), f32({3, 4})}, {{"equation", "ik,jk->ij"}}},
                   {{f32({3, 2, 3}), f32({3})}, {{"equation", "i->iji"}}},
                   {{f32({1, 2}), f32({3, 2}), f32({1, 2})}, {{"equation", "ab,ab->ab"}}}}},

      {.name = "tensordot",
       .doc = "Sums products over pairs of axes of a and b. One number n in axes pairs the last n axes of a with the first n of b; otherwise its first half "
              "names axes of a and its second half the axes of b that they meet. The result has the other axes of a, then those of b.",
       .tf = "tf.tensordot(a, b, axes)",
       .inputs = {"a", "b"},
       .attrs = {attr::list("axes")},
       .dtypes = kNumbers,
       .infer = infer_tensordot,
       .expand = expand_tensordot,
       .samples = {{{f32({2, 3}), f32({3, 4})}, {{"axes", Ints{1}}}}, {{f32({2, 3, 4}), f32({3, 2})}, {{"axes", Ints{0, 1, 1, 0}}}}, {{f32({2}), f32({3})}, {{"axes", Ints{0}}}}}},
  };
}

}  // namespace weft::inline v0::rows
