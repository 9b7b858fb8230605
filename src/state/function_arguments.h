// What the body of a Function may do to its arguments, eagerly and while it is traced.
#pragma once

#include "state/function_core.h"

namespace weft::inline v0::detail {

// Where the Tensors and Variables of some trees are, in order.
struct Places {
  std::vector<Tensor*> tensors;
  std::vector<Variable*> variables;
  bool pointers = false;  // or something else that may be there or not
};
Places places_in(std::span<const Argument> trees);

/// Throws TraceError if one of these, counted among the defined Tensors of the call's arguments, is reached by two of them: of what the body makes
/// of the two, one would be lost.
void require_apart(const FunctionCallState& call, std::span<const std::size_t> replaced);

/// The arguments of a call, and the copies of them that a body works on. Tensors in the copies may be replaced; whatever else is another one
/// afterwards is refused.
class GivenArguments {
 public:
  explicit GivenArguments(const FunctionCallState& call) : call_(call) {}

  /// A new run of the body. Throws TraceError for a Tensor of which there is no copy.
  void begin(std::span<const Argument> copies);
  /// The copies hold now what the body gets.
  void hand_over();
  /// Throws TraceError. `may_grow`: Variables that the body has made may have been put into an argument that is no copy.
  void require_unchanged(bool may_grow);
  bool grew() const { return grew_; }
  struct Replaced {
    std::vector<std::size_t> which;  // of the defined Tensors of the arguments
    std::vector<Tensor> by;
  };
  /// Only what was passed by reference is anybody's concern. REQUIRES: unchanged.
  Replaced replaced() const;

  std::span<const Argument> copies() const { return copies_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }  // handed over, those that are defined
  /// What the arguments were before, in words, which take their time. REQUIRES: it is asked for before the body runs, or `begin` has found nothing that
  /// the body could change in them.
  const std::vector<LeafNote>& notes();

 private:
  bool only_has_more(const std::vector<LeafNote>& now);

  const FunctionCallState& call_;
  std::optional<std::vector<LeafNote>> notes_;
  const std::uint64_t first_made_ = Slot::last_id() + 1;  // Variables from here on are made by the body
  std::span<const Argument> copies_;
  std::vector<Tensor> tensors_;
  std::vector<SlotRef> slots_;  // of the Variables in the copies, one by one
  bool grew_ = false;
};

}  // namespace weft::inline v0::detail
