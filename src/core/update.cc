#include "core/update.h"

namespace weft::inline v0 {

PreparedUpdate::PreparedUpdate(const Call& call, const Specs& specs) {
  if (call.op.update != nullptr) {
    prepare_lanes(call, specs);
    return;
  }
  op_ = &call.op;
  attrs_.assign(call.attrs.begin(), call.attrs.end());
  at_ = call.at;
  specs_ = specs;
  inputs_.push_back(Tensor(new Node(call.inputs[0].spec())));
  for (const Tensor& input : call.inputs.subspan(1)) inputs_.push_back(input);
  results_.push_back(Tensor(new Node(specs[0])));
}

void PreparedUpdate::prepare_lanes(const Call& call, const Specs& specs) {
  Tensors nothing;
  lanes_ = call.op.update(KernelCall{{call.op, call.attrs, call.at}, call.inputs, nothing, specs});
  const std::span<Tensor> tensors = changed(call);
  count_ = tensors.size() / static_cast<std::size_t>(lanes_.inputs);
  dtype_ = tensors[0].dtype();
  const auto fill = [&]<class T>(T*) {
    for (std::size_t i = 0; i < lanes_.numbers.size(); ++i) {
      const auto number = static_cast<T>(lanes_.numbers[i]);
      std::memcpy(constants_ + i * sizeof number, &number, sizeof number);
    }
  };
  dtype_ == f64 ? fill(static_cast<double*>(nullptr)) : fill(static_cast<float*>(nullptr));
  const std::span<Tensor> read = tensors.subspan(count_ * static_cast<std::size_t>(lanes_.outputs));  // behind what is written anew
  read_.assign(read.begin(), read.end());
  tensors_.resize(count_);
  for (std::size_t t = 0; t < count_; ++t) {
    tensors_[t].size = static_cast<std::size_t>(tensors[t].size());
    for (std::size_t i = 0; i < read_.size() / count_; ++i)
      tensors_[t].in[static_cast<std::size_t>(lanes_.outputs) + i] = mutable_data(read_[i * count_ + t]);
  }
  starts_ = kernels::update_starts(tensors_);
}

void PreparedUpdate::place(std::size_t i, const void* from, void* to) {
  if (op_ != nullptr) {
    inputs_[0].node()->data = const_cast<void*>(from);
    results_[0].node()->data = to;
    return;
  }
  kernels::UpdateTensor& tensor = tensors_[i % count_];
  tensor.in[i / count_] = from;
  tensor.out[i / count_] = to;
}

void PreparedUpdate::run() noexcept {
  if (op_ != nullptr) {
    KernelCall call{{*op_, attrs_, at_}, inputs_, results_, specs_};
    return op_->kernel(call);
  }
  kernels::run_updates({lanes_.fn, lanes_.inputs, lanes_.outputs, size_of(dtype_), half_of(dtype_), constants_}, tensors_, starts_);
}

}  // namespace weft::inline v0
