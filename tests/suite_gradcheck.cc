#include "tests/suite_gradcheck.h"

#include <cmath>
#include <cstdio>

#include <weft/forward.h>
#include <weft/ops.h>
#include <weft/tape.h>

namespace weft::test {
namespace {

constexpr double kStep = 1e-6, kAbsolute = 1e-5, kRelative = 1e-3;
constexpr std::size_t kSmallJacobian = 32, kDirections = 4;

using Numbers = std::vector<double>;

std::vector<Tensor> floating(const Tensors& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& x : tensors)
    if (is_floating(x.dtype())) result.push_back(x);
  return result;
}

void append(Numbers& to, const Tensor& x) {
  const Numbers v = values(x);
  to.insert(to.end(), v.begin(), v.end());
}

Numbers flat(std::span<const Tensor> tensors) {
  Numbers result;
  for (const Tensor& x : tensors) append(result, x);
  return result;
}

// The tensors moved by `step` times a direction that runs through all their elements.
std::vector<Tensor> moved(std::span<const Tensor> tensors, const Numbers& direction, double step) {
  std::vector<Tensor> result;
  std::size_t at = 0;
  for (const Tensor& x : tensors) {
    Numbers v = values(x);
    for (double& e : v) e += step * direction[at++];
    result.push_back(with_values(x.spec(), v));
  }
  return result;
}

Arguments with_floating(Arguments arguments, std::span<const Tensor> replacement) {
  std::size_t next = 0;
  for (Tensor& x : arguments.inputs)
    if (is_floating(x.dtype())) x = replacement[next++];
  return arguments;
}

void symmetrise(const Shape& shape, double* d) {
  if (shape.rank() < 2) return;
  const auto n = static_cast<std::size_t>(shape[shape.rank() - 1]);
  const auto batches = n == 0 ? 0 : static_cast<std::size_t>(shape.num_elements()) / (n * n);
  for (std::size_t b = 0; b < batches; ++b, d += n * n)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) d[i * n + j] = d[j * n + i] = (d[i * n + j] + d[j * n + i]) / 2;
}

// A random direction through the floating inputs, symmetric where they are.
Numbers random_direction(const Arguments& arguments, const std::vector<bool>& symmetric, Numbers64& numbers) {
  Numbers result;
  for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Tensor& x = arguments.inputs[i];
    if (!is_floating(x.dtype())) continue;
    const std::size_t start = result.size();
    for (std::int64_t k = 0; k < x.size(); ++k) result.push_back(numbers.uniform(-1, 1));
    if (symmetric[i]) symmetrise(x.shape(), result.data() + start);
  }
  return result;
}

bool any(const std::vector<bool>& flags) {
  for (const bool flag : flags)
    if (flag) return true;
  return false;
}

// sum a[k] * b[k], and the sum of the magnitudes, which is what rounding and cancellation scale with.
struct Product {
  double sum = 0, magnitude = 0;
};
Product dot(const Numbers& a, const Numbers& b) {
  Product p;
  for (std::size_t k = 0; k < a.size(); ++k) {
    p.sum += a[k] * b[k];
    p.magnitude += std::abs(a[k] * b[k]);
  }
  return p;
}

void compare(GradientReport& report, const Numbers& tape, const Numbers& direction, const Numbers& seed, const Numbers& change, const std::string& where) {
  ++report.comparisons;
  const Product analytic = dot(tape, direction), numeric = dot(seed, change);
  const double allowed = kAbsolute * std::max(1.0, std::max(analytic.magnitude, numeric.magnitude)) + kRelative * std::abs(numeric.sum);
  if (std::abs(analytic.sum - numeric.sum) <= allowed || !report.failure.empty()) return;
  char text[160];
  std::snprintf(text, sizeof text, "%s: the tape says %.9g, differences say %.9g", where.c_str(), analytic.sum, numeric.sum);
  report.failure = text;
}

std::vector<Tensor> cut(const Numbers& from, std::span<const Tensor> like) {
  std::vector<Tensor> result;
  std::size_t at = 0;
  for (const Tensor& x : like) {
    const auto count = static_cast<std::size_t>(x.size());
    result.push_back(with_values(x.spec(), std::span(from).subspan(at, count)));
    at += count;
  }
  return result;
}

std::string element_of(std::size_t k, std::span<const Tensor> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto count = static_cast<std::size_t>(tensors[i].size());
    if (k < count) return "[" + std::to_string(i) + "][" + std::to_string(k) + "]";
    k -= count;
  }
  return "?";
}

Numbers unit(std::size_t count, std::size_t k) {
  Numbers result(count, 0.0);
  result[k] = 1;
  return result;
}

}  // namespace

std::vector<bool> symmetric_inputs(const Sample& sample) {
  std::vector<bool> result;
  for (const SampleInput& input : sample.inputs) result.push_back(input.form == SampleInput::Form::kPositiveDefinite);
  return result;
}

bool could_have_gradient(const Arguments& arguments, const Tensors& outputs) { return !floating(arguments.inputs).empty() && !floating(outputs).empty(); }

std::vector<Tensor> seeds_for(const Tensors& outputs, std::uint64_t seed) {
  Numbers64 numbers(seed + 1);
  std::vector<Tensor> result;
  for (const Tensor& y : floating(outputs)) {
    Numbers v(static_cast<std::size_t>(y.size()));
    for (double& e : v) e = static_cast<double>(numbers.integer(-8, 8)) / 8 + 0.0625;  // exact in every floating dtype
    result.push_back(with_values(y.spec(), v));
  }
  return result;
}

std::vector<Tensor> gradients_of(const Op& op, const Arguments& arguments, const std::vector<Tensor>& seeds) {
  const std::vector<Tensor> sources = floating(arguments.inputs);
  GradientTape tape;
  for (const Tensor& x : sources) tape.watch(x);
  const std::vector<Tensor> targets = floating(run(op, arguments));
  std::vector<Tensor> result;
  for (const Grad& grad : tape.gradients(targets, sources, {Unconnected::kZeros, seeds})) result.push_back(grad.dense());
  return result;
}

GradientReport check_first_order(const Op& op, const Arguments& arguments, const std::vector<bool>& symmetric, std::uint64_t seed) {
  GradientReport report;
  const std::vector<Tensor> sources = floating(arguments.inputs), targets = floating(run(op, arguments));
  const std::size_t in = flat(sources).size(), out = flat(targets).size();
  Numbers64 numbers(seed_of(op.name) + seed);

  std::vector<Numbers> directions, changes, seeds;
  const bool full = in <= kSmallJacobian && !any(symmetric);
  for (std::size_t k = 0; k < (full ? in : 2 * kDirections); ++k) directions.push_back(full ? unit(in, k) : random_direction(arguments, symmetric, numbers));
  for (const Numbers& direction : directions) {
    const Numbers above = flat(floating(run(op, with_floating(arguments, moved(sources, direction, kStep)))));
    const Numbers below = flat(floating(run(op, with_floating(arguments, moved(sources, direction, -kStep)))));
    if (above.size() != out || below.size() != out) {
      report.failure = "the outputs change their size when the inputs move by 1e-6";
      return report;
    }
    Numbers change(out);
    for (std::size_t k = 0; k < out; ++k) change[k] = (above[k] - below[k]) / (2 * kStep);
    changes.push_back(std::move(change));
  }
  const bool each = out <= kSmallJacobian;
  for (std::size_t k = 0; k < (each ? out : kDirections); ++k) {
    seeds.push_back(each ? unit(out, k) : Numbers(out));
    if (!each)
      for (double& e : seeds.back()) e = numbers.uniform(-1, 1);
  }

  GradientTape tape({.persistent = true});
  for (const Tensor& x : sources) tape.watch(x);
  const std::vector<Tensor> recorded = floating(run(op, arguments));
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    std::vector<Tensor> dxs;
    const std::vector<Grad> grads = tape.gradients(recorded, sources, {Unconnected::kZeros, cut(seeds[s], recorded)});
    for (std::size_t i = 0; i < grads.size(); ++i) {
      dxs.push_back(grads[i].dense());
      if (dxs.back().spec() == sources[i].spec()) continue;
      report.failure = "the gradient of " + sources[i].spec().str() + " is " + dxs.back().spec().str();
      return report;
    }
    const Numbers tape_says = flat(dxs);
    for (std::size_t d = 0; d < directions.size(); ++d)
      compare(report, tape_says, directions[d], seeds[s], changes[d],
              (each ? "d output" + element_of(s, recorded) : "in direction " + std::to_string(s)) + (full ? " / d floating input" + element_of(d, sources) : " along " + std::to_string(d)));
  }
  return report;
}

GradientReport check_second_order(const Op& op, const Arguments& arguments, const std::vector<bool>& symmetric, std::uint64_t seed) {
  GradientReport report;
  Numbers64 numbers(seed_of(op.name) + seed + 99);
  const std::vector<Tensor> sources = floating(arguments.inputs);
  const std::vector<Tensor> seeds = seeds_for(run(op, arguments), seed);

  // The gradient is a function of the inputs and of the seeds: both move, and both are sources of the outer tape.
  std::vector<Tensor> everything = sources;
  everything.insert(everything.end(), seeds.begin(), seeds.end());
  const auto gradient_at = [&](const std::vector<Tensor>& point) {
    const std::vector<Tensor> some(point.begin() + static_cast<std::ptrdiff_t>(sources.size()), point.end());
    return gradients_of(op, with_floating(arguments, point), some);
  };
  GradientTape outer({.persistent = true});
  for (const Tensor& x : everything) outer.watch(x);
  const std::vector<Tensor> first = gradient_at(everything);
  const std::size_t out = flat(first).size();

  for (std::size_t k = 0; k < kDirections; ++k) {
    Numbers direction = random_direction(arguments, symmetric, numbers), weights(out);
    for (const Tensor& x : seeds)
      for (std::int64_t e = 0; e < x.size(); ++e) direction.push_back(numbers.uniform(-1, 1));
    for (double& e : weights) e = numbers.uniform(-1, 1);
    if (any(symmetric)) {  // how a symmetric input's gradient is shared between two mirrored elements is nobody's business
      std::size_t at = 0, source = 0;
      for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
        if (!is_floating(arguments.inputs[i].dtype())) continue;
        if (symmetric[i]) symmetrise(sources[source].shape(), weights.data() + at);
        at += static_cast<std::size_t>(sources[source++].size());
      }
    }
    const Numbers above = flat(gradient_at(moved(everything, direction, kStep))), below = flat(gradient_at(moved(everything, direction, -kStep)));
    Numbers change(out);
    for (std::size_t e = 0; e < out; ++e) change[e] = (above[e] - below[e]) / (2 * kStep);
    std::vector<Tensor> second;
    for (const Grad& grad : outer.gradients(first, everything, {Unconnected::kZeros, cut(weights, first)})) second.push_back(grad.dense());
    for (std::size_t i = 0; i < second.size(); ++i)
      if (second[i].spec() != everything[i].spec()) {
        report.failure = "the second gradient of " + everything[i].spec().str() + " is " + second[i].spec().str();
        return report;
      }
    compare(report, flat(second), direction, weights, change, "second order, direction " + std::to_string(k));
  }
  return report;
}

GradientReport check_forward(const Op& op, const Arguments& arguments, std::uint64_t seed) {
  GradientReport report;
  Numbers64 numbers(seed_of(op.name) + seed + 7);
  const std::vector<Tensor> sources = floating(arguments.inputs), seeds = seeds_for(run(op, arguments), seed);
  const std::vector<Tensor> gradients = gradients_of(op, arguments, seeds);
  std::vector<Tensor> tangents;
  for (const Tensor& x : sources) {
    Numbers direction(static_cast<std::size_t>(x.size()));
    for (double& e : direction) e = numbers.uniform(-1, 1);
    tangents.push_back(with_values(x.spec(), direction));
  }
  const auto check = [&](const std::vector<Source>& moving, const std::vector<Tensor>& along, const Numbers& gradient, const std::string& which) {
    ForwardAccumulator forward(moving, along);
    const std::vector<Tensor> ys = floating(run(op, arguments)), dys = forward.jvp(ys, {.unconnected = Unconnected::kZeros});
    ++report.comparisons;
    for (std::size_t i = 0; i < ys.size(); ++i)
      if (dys[i].spec() != ys[i].spec()) report.failure = which + ": the tangent of " + ys[i].spec().str() + " is " + dys[i].spec().str();
    if (!report.failure.empty()) return;
    const Product ahead = dot(flat(seeds), flat(dys)), back = dot(gradient, flat(along));
    if (!(std::abs(ahead.sum - back.sum) <= 1e-10 * std::max(1.0, std::max(ahead.magnitude, back.magnitude)))) {
      char text[160];
      std::snprintf(text, sizeof text, "%s: forward it is %.17g, backward %.17g", which.c_str(), ahead.sum, back.sum);
      report.failure = text;
    }
  };
  check({sources.begin(), sources.end()}, tangents, flat(gradients), "all");
  for (std::size_t i = 0; i < sources.size() && report.failure.empty(); ++i)
    check({sources[i]}, {tangents[i]}, flat({&gradients[i], 1}), "floating input " + std::to_string(i));
  return report;
}

}  // namespace weft::test
