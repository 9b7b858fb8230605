// What a tape does while a program runs, and the one reverse-mode algorithm.
#pragma once

#include "state/follower.h"
#include "state/records.h"
#include <weft/tape.h>
#include <weft/variable.h>

namespace weft::inline v0 {

class TapeRecorder final : public Follower {
 public:
  explicit TapeRecorder(TapeOptions options)
      : Follower("tape", "this tape has answered, or its thread has ended; reset it to record anew."), settings(options) {}

  void apply(Call call, Tensors& outputs) override;
  Tensor read(std::uint64_t slot, const Variable& variable, Tensor value, Location at) override;
  void watch(const Tensor& x, Location at);
  void watch(const Variable& variable, Location at);
  std::vector<Variable> watched_variables() const;
  /// Of the Variables of a `tree` those that are unconnected are absent, if the options do not say otherwise.
  std::vector<Grad> gradients(const std::vector<Tensor>& targets, std::span<const Source> sources, const GradientOptions& options,
                              Location at, bool tree = false, const char* name = "gradient");
  /// The target's elements (if `batch`, those of one entry), each differentiated by each of the source's: many reverse passes at once.
  std::vector<Grad> jacobians(const Tensor& target, std::span<const Source> sources, const JacobianOptions& options, bool batch, Location at,
                              bool tree = false);

  /// The same of Tensors, for those who have made sure that all fits together: without a look, and the tape stays as it is. Absent: unconnected.
  std::vector<Grad> pull_back(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources, std::vector<Tensor> seeds, Location at) const;

  bool recording() const override { return !spent_ && Follower::recording(); }
  bool goes_forward() const override { return false; }
  bool follows(const Tensor& x) const override { return ids_.find(key_of(x)) >= 0; }
  bool watches(std::uint64_t slot, bool trainable) const override {
    return recording() && (find_slot(slot) != nullptr || (settings.watch_accessed_variables && trainable));
  }
  void record_custom(const Op& name, Location at, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     std::shared_ptr<const GradientFn> gradient) override;

  /// Records a call that was made while this tape did not look. REQUIRES: it follows one of the inputs.
  TapeRecord& record_made(const Op& op, Location at, AttrSpan attrs, std::span<const Tensor> inputs, std::span<const Tensor> outputs);

  const TapeOptions settings;

 private:
  // A Variable that is watched. Each value that was read has an id, which is that of a value without gradient for an integer.
  struct Read {
    Tensor slot_value, value;  // what the slot held, and what the program got
    std::int32_t id;
  };
  struct WatchedSlot {
    Variable variable;
    SmallVector<Read, 1> reads{};
  };
  // Where a path from a source ends, if it does not reach the target as a gradient.
  struct Cut {
    bool depends = false;                // the target depends on the source at all
    const TapeRecord* broken = nullptr;  // and this is the first call on the way through which no gradient flows
    bool integer() const;                // because its result is not floating
  };

  static std::uint64_t key_of(const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x.node()); }
  void apply_with(const Call& call, std::int32_t* ids, Tensor* held, Tensors& outputs);
  void apply_unrecorded(const Call& call, std::span<const std::int32_t> ids, bool known, Tensors& outputs);
  void record(const Call& call, std::span<Tensor> inputs, std::span<const std::int32_t> ids, Tensors& outputs, bool broken);
  std::int32_t name_value(const Tensor& x, bool flows) noexcept;
  void let_go() noexcept;
  const WatchedSlot* find_slot(std::uint64_t id) const;
  WatchedSlot* find_slot(std::uint64_t id) { return const_cast<WatchedSlot*>(std::as_const(*this).find_slot(id)); }
  WatchedSlot& add_slot(const Variable& variable);

  struct Question {  // one call of `gradients` or `jacobians`
    const char* name;  // of what was called, for errors
    const std::vector<Tensor>& targets;
    std::span<const Source> sources;
    const GradientOptions& options;
    Location at;
    bool tree;
    Unconnected mode() const { return options.unconnected.value_or(tree ? Unconnected::kNone : Unconnected::kError); }
  };
  void check(const Question& question) const;
  std::vector<Grad> answer(const Question& question) const;
  /// What f returns. The tape does not record it, and lets go of everything then, unless it is persistent; an error leaves it as it was.
  template <class F>
  std::vector<Grad> answer_once(const F& f) {
    const bool ends = !settings.persistent && installed();
    if (ends) remove();
    try {
      std::vector<Grad> result = f();
      if (!settings.persistent) let_go();
      return result;
    } catch (...) {
      if (ends) install();
      throw;
    }
  }
  std::vector<std::unique_ptr<InPlaceOf>> compare_batches_later(const Question& question) const;
  std::vector<Grad> rows_of_jacobians(const Question& question, const Tensor& seeds) const;
  SmallVector<std::int32_t, 1> ids_of(const Source& source) const;
  std::vector<bool> reachable_from(std::span<const std::int32_t> sources) const;
  // One slot for each id: what has arrived at that value. Those that are not kept are let go once they are used.
  void reverse(const std::vector<bool>& needed, const std::vector<bool>& kept, std::vector<Grad>& adjoints) const;
  Grads gradient_of(const TapeRecord& record, std::span<const Grad> dys, std::span<const bool> wanted) const;
  Grad sum_over_reads(const Source& source, const std::vector<Grad>& adjoints, const Question& question) const;

  Grad unconnected(const Question& question, const Source& source) const;
  Cut find_cut(const Question& question, const Source& source) const;
  [[noreturn]] void explain(const Question& question, const Source& source, const Cut& cut) const;
  [[noreturn]] void refuse_integer(const Question& question, const Variable& variable) const;

  IdMap ids_;    // of nodes, which stay alive because records and watched_ hold them
  std::int32_t next_id_ = 0, next_broken_ = -2;
  std::vector<Tensor> watched_;
  TapeRecords records_;
  std::vector<std::shared_ptr<const GradientFn>> customs_;
  IdMap slots_by_id_;  // to positions in slots_
  std::vector<WatchedSlot> slots_;
  bool spent_ = false;  // a tape that is not persistent has answered, and holds nothing but the Variables that it watched
};

/// 'f32[2]', or 'Variable "w" f32[2]'
std::string title_of(const Source& source);

}  // namespace weft::inline v0
