#include <weft/tape.h>

#include "state/batcher.h"
#include "state/recorder.h"

namespace weft::inline v0 {

GradientTape::GradientTape(TapeOptions options, Location at) {
  detail::with_memory("tape", at, [&] { recorder_ = std::make_unique<TapeRecorder>(options); });
  recorder_->install();
}

GradientTape::~GradientTape() { Interpreter::retire(std::move(recorder_)); }

void GradientTape::watch(const Tensor& x, Location at) {
  detail::with_memory("watch", at, [&] {
    // One of no trace at all stands for nothing but its Spec, and asks for no more.
    if (x.defined() && x.node()->symbolic && symbol_of(x).trace != 0 && !is_live(x))
      throw TraceError("watch", "x " + x.spec().str() + " was made while tracing and has no value outside; return it from the traced function.", x.node()->made_at());
    recorder_->watch(x, at);
  });
}

void GradientTape::watch(const Variable& v, Location at) {
  detail::with_memory("watch", at, [&] { recorder_->watch(v, at); });
}

void GradientTape::watch(const Sources& sources, Location at) {
  for (const Source& source : sources.list()) source.tensor() != nullptr ? watch(*source.tensor(), at) : watch(*source.variable(), at);
}

std::vector<Variable> GradientTape::watched_variables() const {
  return detail::with_memory("watched_variables", {}, [&] { return recorder_->watched_variables(); });
}

std::vector<Grad> GradientTape::gradients(const std::vector<Tensor>& targets, const Sources& sources, GradientOptions options,
                                          Location at) {
  return detail::with_memory("gradient", at, [&] { return recorder_->gradients(targets, sources.list(), options, at); });
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const Sources& sources, GradientOptions options, Location at) {
  return detail::with_memory("gradient", at, [&] {
    std::vector<Tensor> result;
    for (const Grad& grad : recorder_->gradients({target}, sources.list(), options, at))
      result.push_back(grad.present() ? grad.dense() : Tensor());
    return result;
  });
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source, GradientOptions options, Location at) {
  return detail::with_memory("gradient", at, [&] { return gradient(target, Sources{source}, std::move(options), at)[0]; });
}

Tensor GradientTape::gradient(const Tensor& target, const Variable& source, GradientOptions options, Location at) {
  return detail::with_memory("gradient", at, [&] { return gradient(target, Sources{source}, std::move(options), at)[0]; });
}

Gradients GradientTape::gradient_of_variables(const Tensor& target, const NamedVariables& variables, GradientOptions options, Location at) {
  return detail::with_memory("gradient", at, [&] {
    const std::vector<Source> sources(variables.values().begin(), variables.values().end());
    return variables.with(recorder_->gradients({target}, sources, options, at, true));
  });
}

bool GradientTape::recording() const { return recorder_->recording(); }

void GradientTape::stop(Location at) { recorder_->stop(at); }
void GradientTape::resume(Location at) { recorder_->resume(at); }

void GradientTape::resume_after_stop() noexcept { recorder_->stopped = false; }

void GradientTape::reset(Location at) {
  recorder_->require_own_thread("reset", at);
  detail::with_memory("reset", at, [&] {
    auto fresh = std::make_unique<TapeRecorder>(recorder_->settings);
    fresh->stopped = recorder_->stopped;
    std::swap(fresh, recorder_);
    Interpreter::retire(std::move(fresh));
  });
  recorder_->install();
}

}  // namespace weft::inline v0
