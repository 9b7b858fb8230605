// An interpreter that knows Specs only: what a trace with unknown sizes would see.
#pragma once

#include <string>
#include <vector>

#include "core/apply.h"

namespace weft::test {

/// Answers every call with symbolic tensors of the Specs that `.infer` gives. Rows with `.expand` are expanded as well, and the
/// two answers must be compatible. Installed from construction to destruction; a GradientTape made after it records on top.
class Abstract final : public Interpreter {
 public:
  Abstract() { install(); }
  ~Abstract() override {
    if (installed()) remove();
  }
  Abstract(const Abstract&) = delete;
  Abstract& operator=(const Abstract&) = delete;

  void apply(Call call, Tensors& outputs) override;

  /// Every call with its attributes and its concrete inputs. Code that reads no size on the host makes the same calls for
  /// all sizes, known or not.
  const std::vector<std::string>& log() const { return log_; }

 private:
  std::vector<std::string> log_;
};

/// Same dtype, and shapes that could be the same.
bool compatible(const Spec& a, const Spec& b);

}  // namespace weft::test
