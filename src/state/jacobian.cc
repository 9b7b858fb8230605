// Jacobians: the one reverse-mode algorithm, run for many output gradients at once.
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "core/infer.h"
#include "state/batcher.h"
#include "state/recorder.h"
#include "state/slot.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

Spec spec_of(const Source& source) {  // as it is now: a Variable may have declared less
  if (source.tensor() != nullptr) return source.tensor()->spec();
  return {source.variable()->dtype(), source.variable()->shape()};
}

std::string other_batch(const Spec& target, const std::string& source) {
  return "target is " + target.str() + " and source " + source + "; their first axes are the batch and must agree.";
}

void require_batch(const Tensor& target, std::span<const Source> sources, Location at) {
  const auto refuse = [&](const std::string& what) { throw ShapeError("batch_jacobian", what, at); };
  if (target.rank() < 2) refuse("target is " + target.spec().str() + "; it needs a batch axis and at least one more, or ask for a jacobian.");
  for (const Source& source : sources) {
    const Spec spec = spec_of(source);
    if (spec.shape.rank() < 2) refuse("source " + title_of(source) + " needs a batch axis and at least one more; ask for a jacobian.");
    const std::int64_t a = target.shape().dim(0), b = spec.shape.dim(0);
    if (a != kUnknown && b != kUnknown && a != b)
      refuse(other_batch(target.spec(), title_of(source)));
  }
}

// What cannot be compared yet is compared when it is known: this is the rule of that. It is never called.
const Op& same_batch_row() {
  constexpr InferFn compare = [](const Infer& in) -> Specs {
    if (!infer::compatible(in.shape(0).dim(0), in.shape(1).dim(0))) in.shape_error(other_batch(in.spec(0), in.spec(1).str()));
    return {in.spec(0)};
  };
  static const Op& row = *new Op{.name = "batch_jacobian", .doc = "The first sizes agree.", .inputs = {"target:any", "source:any"}, .infer = compare};
  return row;
}

// How many elements differ between entries of a batch; without a batch, all.
std::int64_t count_of(const char* name, const Tensor& target, std::span<const std::int64_t> axes, Location at) {
  std::int64_t count = 1;
  for (const std::int64_t size : axes) {
    if (size == kUnknown)
      throw ShapeError(name, "target is " + target.spec().str() + " while tracing; its Jacobian has a row for each element, so declare its sizes.", at);
    const auto product = checked_mul(count, size);
    if (!product) throw ShapeError(name, "target is " + target.spec().str() + "; its elements cannot be counted.", at);
    count = *product;
  }
  return count;
}

// Rows `from` .. `to` - 1 of the identity.
Tensor unit_rows(std::int64_t count, std::int64_t from, std::int64_t to, DType dtype) {
  if (from == 0 && to == count) return eye(count, {.dtype = dtype});
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(to - from));
  std::iota(numbers.begin(), numbers.end(), from);
  return one_hot(Tensor(numbers), count, {.dtype = dtype});
}

// The gradients of the target that pick one element each: those of one entry, for all entries of a batch alike.
Tensor seeds_of(const Tensor& target, const Tensor& rows, bool batch) {
  const Shape& shape = target.shape();
  Ints sizes{rows.shape().dim(0)};
  for (int axis = 0; axis < shape.rank(); ++axis) sizes.push_back(batch && axis == 0 ? 1 : shape.dim(axis));
  const Tensor one = reshape(rows, Shape(sizes));
  if (!batch || shape.dim(0) == 1) return one;
  if (shape.dim(0) == kUnknown) return one * expand_dims(ones_like(target), 0);
  sizes[1] = shape.dim(0);
  return broadcast_to(one, Shape(sizes));
}

}  // namespace

// The scopes of rules that hold for what is computed in them.
std::vector<std::unique_ptr<InPlaceOf>> TapeRecorder::compare_batches_later(const Question& question) const {
  std::vector<std::unique_ptr<InPlaceOf>> rules;
  const auto compare = [&](const Tensor& source) {
    Tensor both[] = {question.targets[0], source};
    if (both[0].shape().dim(0) == kUnknown || both[1].shape().dim(0) == kUnknown)
      rules.push_back(std::make_unique<InPlaceOf>(Call{same_batch_row(), both, {}, question.at}));
  };
  for (const Source& source : question.sources) {
    if (source.tensor() != nullptr) compare(*source.tensor());
    else if (const WatchedSlot* const slot = find_slot(source.variable()->slot()->id))
      for (const Read& read : slot->reads) compare(read.value);
  }
  return rules;
}

std::vector<Grad> TapeRecorder::rows_of_jacobians(const Question& question, const Tensor& seeds) const {
  Batcher batcher(seeds.shape().dim(0));
  batcher.install();
  const GradientOptions options{question.options.unconnected, {batcher.symbol(seeds, question.at)}};
  std::vector<Grad> rows = answer({question.name, question.targets, question.sources, options, question.at, question.tree});
  for (Grad& row : rows) {
    if (!row.present()) continue;
    const Tensor dense = row.dense();
    const Interpreter::Scope below(batcher.below());
    row = batcher.value(dense);
  }
  return rows;
}

std::vector<Grad> TapeRecorder::jacobians(const Tensor& target, std::span<const Source> sources, const JacobianOptions& how, bool batch, Location at,
                                          bool tree) {
  const char* const name = batch ? "batch_jacobian" : "jacobian";
  require_own_thread(name, at);
  const std::vector<Tensor> targets{target};
  const GradientOptions options{how.unconnected, {}};
  const Question question{name, targets, sources, options, at, tree};
  check(question);
  if (how.chunk < 0) throw ValueError(name, "chunk is " + std::to_string(how.chunk) + "; it must be 0, for all elements at once, or more.", at);
  if (batch) require_batch(target, sources, at);
  const std::span<const std::int64_t> axes = target.shape().sizes().subspan(batch ? 1 : 0);
  const std::int64_t count = count_of(name, target, axes, at), most = how.chunk == 0 ? count : how.chunk;
  return answer_once([&] {
    const OnBehalf line(at);
    std::vector<std::unique_ptr<InPlaceOf>> rules;
    if (batch) rules = compare_batches_later(question);
    std::vector<Grad> result;
    std::vector<std::vector<Tensor>> parts(sources.size());
    if (count == 0) {  // whether there is a way is still asked
      const GradientOptions empty{how.unconnected, {zeros_like(target)}};
      result = answer({name, targets, sources, empty, at, tree});
      for (std::size_t i = 0; i < result.size(); ++i) {
        if (!result[i].present()) continue;
        const Tensor dense = result[i].dense();
        Ints multiples(static_cast<std::size_t>(dense.rank()) + 1, 1);
        multiples[0] = 0;
        parts[i].push_back(tile(expand_dims(dense, 0), multiples));
      }
    }
    for (std::int64_t from = 0; from < count; from += std::min(most, count - from)) {
      const std::int64_t to = from + std::min(most, count - from);
      result = rows_of_jacobians(question, seeds_of(target, unit_rows(count, from, to, target.dtype()), batch));
      for (std::size_t i = 0; i < result.size(); ++i)
        if (result[i].present()) parts[i].push_back(result[i].dense());
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!result[i].present()) continue;
      Tensor rows = parts[i].size() == 1 ? std::move(parts[i][0]) : concat(parts[i], 0);
      parts[i].clear();
      if (batch) {
        Ints perm(static_cast<std::size_t>(rows.rank()));
        std::iota(perm.begin(), perm.end(), 0);
        std::swap(perm[0], perm[1]);
        rows = transpose(rows, {.perm = perm});
      }
      result[i] = axes.size() == 1 ? rows : unflatten(rows, batch ? 1 : 0, Ints(axes.begin(), axes.end()));
    }
    return result;
  });
}

namespace {

// What f returns. Whatever finds no memory in a line of Weft finds none for the rows; only the gradient of an op names that and its line.
template <class F>
auto with_rows(bool batch, const JacobianOptions& options, Location at, const F& f) {
  try {
    return f();
  } catch (const OutOfMemoryError& error) {
    if (error.location().line != 0 && !is_own_line(error.location())) throw;
  } catch (const std::bad_alloc&) {
  }
  const bool one = options.chunk == 1;
  throw OutOfMemoryError(batch ? "batch_jacobian" : "jacobian",
                         one ? "there is no memory for a row; use smaller shapes."
                             : "there is no memory for the rows of so many elements of the target at once; give a smaller chunk.", at);
}

std::vector<Tensor> ask(TapeRecorder& tape, const Tensor& target, std::span<const Source> sources, const JacobianOptions& options, bool batch,
                        Location at) {
  return with_rows(batch, options, at, [&] {
    std::vector<Tensor> result;
    for (const Grad& grad : tape.jacobians(target, sources, options, batch, at)) result.push_back(grad.present() ? grad.dense() : Tensor());
    return result;
  });
}

Tensor ask(TapeRecorder& tape, const Tensor& target, const Source& source, const JacobianOptions& options, bool batch, Location at) {
  return ask(tape, target, std::span(&source, 1), options, batch, at)[0];
}

}  // namespace

std::vector<Tensor> GradientTape::jacobian(const Tensor& target, const Sources& sources, JacobianOptions options, Location at) {
  return ask(*recorder_, target, sources.list(), options, false, at);
}
Tensor GradientTape::jacobian(const Tensor& target, const Tensor& source, JacobianOptions options, Location at) {
  return ask(*recorder_, target, Source(source), options, false, at);
}
Tensor GradientTape::jacobian(const Tensor& target, const Variable& source, JacobianOptions options, Location at) {
  return ask(*recorder_, target, Source(source), options, false, at);
}

std::vector<Tensor> GradientTape::batch_jacobian(const Tensor& target, const Sources& sources, JacobianOptions options, Location at) {
  return ask(*recorder_, target, sources.list(), options, true, at);
}
Tensor GradientTape::batch_jacobian(const Tensor& target, const Tensor& source, JacobianOptions options, Location at) {
  return ask(*recorder_, target, Source(source), options, true, at);
}
Tensor GradientTape::batch_jacobian(const Tensor& target, const Variable& source, JacobianOptions options, Location at) {
  return ask(*recorder_, target, Source(source), options, true, at);
}

Gradients GradientTape::jacobian_of_variables(const Tensor& target, const NamedVariables& variables, JacobianOptions options, bool batch, Location at) {
  return with_rows(batch, options, at, [&] {
    const std::vector<Source> sources(variables.values().begin(), variables.values().end());
    return variables.with(recorder_->jacobians(target, sources, options, batch, at, true));
  });
}

}  // namespace weft::inline v0
