// What a tape remembers, and the one reverse-mode algorithm.
#pragma once

#include <unordered_map>

#include "core/apply.h"
#include <weft/tape.h>

namespace weft::inline v0 {

/// Values get consecutive ids in the order in which the tape meets them: first the watched ones, then results.
struct TapeRecord {
  const Op* op;
  std::vector<Attr> attrs;
  Location at;
  Tensors inputs, outputs;
  SmallVector<std::int32_t, 2> input_ids, output_ids;  // -1: not followed
};

/// Maps nodes to ids. Open addressing: a lookup is a hash and, mostly, one comparison. Keys stay valid because the tape holds
/// every node it has named.
class NodeIds {
 public:
  std::int32_t find(const Node* node) const;
  std::int32_t add(const Node* node);  // its id, a new one if it had none
  std::int32_t count() const { return count_; }

 private:
  void grow();
  struct Slot {
    const Node* node = nullptr;
    std::int32_t id = -1;
  };
  std::vector<Slot> slots_;
  std::int32_t count_ = 0;
};

class GradientTape::Recorder final : public Interpreter {
 public:
  explicit Recorder(TapeOptions options) : persistent(options.persistent) {}

  void apply(Call call, Tensors& outputs) override;
  void watch(const Tensor& x, Location at);
  std::vector<Grad> gradients(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources, const GradientOptions& options, Location at);

  const bool persistent;
  bool spent = false;  // a tape that is not persistent has answered

 private:
  // One slot for each id: what has arrived at that value so far.
  std::vector<Grad> reverse(const std::vector<bool>& needed, std::vector<Grad> adjoints) const;
  std::vector<bool> reachable_from(const std::vector<Tensor>& sources) const;

  NodeIds ids_;
  std::vector<Tensor> watched_;
  std::vector<TapeRecord> records_;
};

}  // namespace weft::inline v0
