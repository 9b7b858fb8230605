// GradientTape: records ops and differentiates them backward.
//
//   Tensor x = 3.f;
//   GradientTape tape;
//   tape.watch(x);
//   Tensor y = x * x;
//   Tensor dx = tape.gradient(y, x);   // 6
//
// A tape records from its construction until `gradient` is called (a persistent one: until it is destroyed). Tapes nest; an
// outer tape records the gradient computation of an inner one, which gives higher orders.
//
// Thread safety: a tape belongs to the thread that made it and records only what that thread does. While that thread lives, asking it
// elsewhere is a StateError; afterwards it no longer records and belongs to its owner.
// Ownership: a tape holds the values it needs; a later change of anything cannot change a gradient.
// Cost: one record for each op that touches a watched value; nothing for the others.
#pragma once

#include <memory>
#include <vector>

#include <weft/gradient.h>
#include <weft/tensor.h>

namespace weft::inline v0 {

/// What `gradient` answers for a source that the target does not depend on.
enum class Unconnected : std::uint8_t { kError, kZeros, kNone };

struct TapeOptions {
  bool persistent = false;  ///< allow more than one `gradient` call
};

struct GradientOptions {
  Unconnected unconnected = Unconnected::kError;
  std::vector<Tensor> output_gradients = {};  ///< one for each target, of its Spec; ones if empty
};

class WEFT_API GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// Follow this value. REQUIRES: floating (else GradientError). Watching twice is harmless.
  void watch(const Tensor& x, Location at = Location::here());

  /// The gradient of the sum of `target`'s elements with respect to `source`, with source's Spec. An unconnected source is a
  /// GradientError unless the options say otherwise. Ends the recording unless the tape is persistent or the call throws; a second
  /// call is then a StateError.
  Tensor gradient(const Tensor& target, const Tensor& source, GradientOptions options = {}, Location at = Location::here());
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Tensor>& sources, GradientOptions options = {},
                               Location at = Location::here());
  /// Several targets (their gradients add up), and sparse gradients left sparse.
  std::vector<Grad> gradients(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources, GradientOptions options = {},
                              Location at = Location::here());

 private:
  class Recorder;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace weft::inline v0
