#include <weft/tape.h>

#include "state/recorder.h"

namespace weft::inline v0 {

GradientTape::GradientTape(TapeOptions options) : recorder_(std::make_unique<Recorder>(options)) { recorder_->install(); }

GradientTape::~GradientTape() { Interpreter::retire(std::move(recorder_)); }

void GradientTape::watch(const Tensor& x, Location at) { recorder_->watch(x, at); }

std::vector<Grad> GradientTape::gradients(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources, GradientOptions options, Location at) {
  return recorder_->gradients(targets, sources, options, at);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Tensor>& sources, GradientOptions options, Location at) {
  std::vector<Tensor> result;
  for (const Grad& grad : gradients({target}, sources, std::move(options), at)) result.push_back(grad.present() ? grad.dense() : Tensor());
  return result;
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source, GradientOptions options, Location at) {
  return gradient(target, std::vector<Tensor>{source}, std::move(options), at)[0];
}

}  // namespace weft::inline v0
