// What branches and loops have in common: their parts, and what those read and write.
#pragma once

#include "state/body_trace.h"
#include "state/function_core.h"
#include <weft/control.h>

namespace weft::inline v0::detail {

/// What a tree holds. Throws TraceError for Variables.
CallLeaves leaves_in(const char* name, const Argument& tree, Location at);
CallList<Tensor*> tensors_of(const char* name, const Argument& tree, Location at);

/// Throws what a condition must not be.
void require_condition(const char* name, const Tensor& x, Location at);

/// Writes what the parts have written, which was made for the whole. Throws TraceError, having written nothing, if that is many values: each
/// would write something else.
void write_parts(const char* name, std::span<const BodyTracing::Write> writes, std::span<const Tensor> made, Location at);
[[noreturn]] void refuse_write(const char* name, const Slot& slot, Location at);

// Values of the program around that parts read: each once.
class Captures {
 public:
  explicit Captures(std::vector<SlotRef> carried = {}) : carried_(std::move(carried)) {}

  void add(const BodyTracing& part) {
    for (const BodyTracing::Capture& capture : part.captures())
      if (!is_carried(capture) && find(capture) == outside_.size()) outside_.push_back(capture);
  }
  /// The inputs of a part for all of them.
  void inputs_of(const BodyTracing& part, std::vector<BodyTracing::Input>& inputs) const {
    const std::size_t first = inputs.size();
    for (const BodyTracing::Capture& capture : outside_) inputs.push_back({BodyTracing::kNew, capture.outside.spec()});
    for (const BodyTracing::Capture& capture : part.captures())
      if (!is_carried(capture)) inputs[first + find(capture)].inside = capture.inside;
  }
  void append_to(std::vector<Tensor>& inputs) const {
    for (const BodyTracing::Capture& capture : outside_) inputs.push_back(capture.outside);
  }

 private:
  bool is_carried(const BodyTracing::Capture& capture) const { return std::find(carried_.begin(), carried_.end(), capture.slot) != carried_.end(); }
  // What was read of a Variable and the same value in a Tensor are two captures of one part, and stay two inputs.
  std::size_t find(const BodyTracing::Capture& capture) const {
    std::size_t i = 0;
    while (i < outside_.size() && !(outside_[i].slot == capture.slot && outside_[i].outside.same_as(capture.outside))) ++i;
    return i;
  }
  std::vector<SlotRef> carried_;
  std::vector<BodyTracing::Capture> outside_;
};

}  // namespace weft::inline v0::detail
