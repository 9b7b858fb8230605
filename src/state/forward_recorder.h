// What a ForwardAccumulator does while a program runs: it carries tangents along.
#pragma once

#include <exception>
#include <unordered_map>

#include "state/follower.h"
#include <weft/forward.h>

namespace weft::inline v0 {

/// What an accumulator knows about a value.
struct Tangent {
  Tensor value = {};                    // where it moves; empty: see below
  std::exception_ptr error = nullptr;   // it moves, but this hinders to say where to
  const Op* cut = nullptr;   // it depends on what moves, only through this call, through which no derivative flows
  Location at = {};
  Spec cut_spec = {};        // what that call gave

  bool moves() const { return value.defined() || error != nullptr; }
  bool known() const { return moves() || cut != nullptr; }
};

/// The tangents of values.
///
/// Each value is held with a handle, so that nothing is computed in its place and no Variable takes it over. One that nobody holds but
/// accumulators is dead: it goes with what is known of it, at once if it was an argument of the last call, else when so much has come since
/// the last look that another one is due. So the dead take at most as much room as the living, and a little.
class ForwardRecorder final : public Follower {
 public:
  ForwardRecorder() : Follower("accumulator", "the thread of this accumulator has ended; make a new one.") {}

  void apply(Call call, Tensors& outputs) override;
  Tensor read(std::uint64_t slot, const Variable& variable, Tensor value, Location at) override;
  void record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     std::shared_ptr<const GradientFn> gradient) override;

  /// From now on the value, or whatever is read of the Variable, moves there. Throws unless it may, and does not yet.
  void move(const Source& primal, const Tensor& tangent, Location at);
  /// Empty if there is none and none is asked for.
  Tensor jvp(const Tensor& y, Unconnected mode, Location at);
  /// What is known; REQUIRES: x is defined.
  const Tangent& tangent_of(const Tensor& x) const;

  bool follows(const Tensor& x) const override;
  bool watches(std::uint64_t, bool) const override { return recording(); }  // what was assigned has no way back for anybody
  bool goes_forward() const override { return true; }

 private:
  struct Entry {
    Tensor x;
    Tangent tangent;
    std::size_t bytes;
  };
  using Entries = std::unordered_map<const Node*, Entry>;
  static constexpr std::size_t kFewEntries = 64, kFewBytes = std::size_t{1} << 20;

  void put(const Tensor& x, Tangent tangent);
  bool is_dead(const Node& node) const;
  Entries::node_type take(Entries::iterator entry);
  void drop_dead(std::span<const Node* const> arguments) noexcept;
  void sweep() noexcept;
  void pass_on(const Call& call, std::span<const Tangent> inputs, std::span<const Tensor> outputs);
  void move_on(const Call& call, std::span<const Tangent> inputs, std::span<const Tensor> held, Tensors& outputs);
  void put_all(const Op& op, Location at, std::span<const Tensor> outputs, std::span<const Tensor> tangents,
               std::span<const std::exception_ptr> errors);
  [[noreturn]] void explain(const Tensor& y, const Tangent& tangent, Location at) const;

  Entries entries_;
  std::size_t bytes_ = 0, most_entries_ = kFewEntries, most_bytes_ = kFewBytes;  // when they are reached, a look is due
  std::unordered_map<std::uint64_t, Tensor> slots_;  // tangents of Variables, by the ids of their slots
};

// --- where a call moves its outputs ---

/// The tangents of the outputs of a call, as its gradient implies them: the gradient is linear in the gradients of the outputs, so its own
/// gradient with respect to those is the way forward. `gradient`, if given, takes the place of the row's.
/// REQUIRES: an input moves; all that is called goes to the right interpreter.
Tensors moved_by_gradient(const Forward& forward, std::span<const Tensor> outputs, const std::shared_ptr<const GradientFn>& gradient = nullptr);

}  // namespace weft::inline v0
