// What a tape remembers, and the one reverse-mode algorithm.
#pragma once

#include <memory>

#include "core/apply.h"
#include <weft/tape.h>

namespace weft::inline v0 {

/// Values get consecutive ids in the order in which the tape meets them: first the watched ones, then results.
struct TapeRecord {
  const Op* op = nullptr;
  Location at{};
  std::vector<Attr> attrs{};
  std::uint32_t inputs = 0;            // so many values are inputs, the rest outputs
  SmallVector<Tensor, 3> values{};
  SmallVector<std::int32_t, 3> ids{};  // of the values; -1: not followed

  std::span<const Tensor> input_values() const { return {values.data(), inputs}; }
  std::span<const Tensor> output_values() const { return {values.data() + inputs, values.size() - inputs}; }
  std::span<const std::int32_t> input_ids() const { return {ids.data(), inputs}; }
  std::span<const std::int32_t> output_ids() const { return {ids.data() + inputs, ids.size() - inputs}; }
};

/// Records in the order in which they were made. Grows by whole blocks, so a record never moves.
class TapeRecords {
 public:
  TapeRecord& append();
  void drop_last();
  std::size_t size() const { return size_; }
  const TapeRecord& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }

 private:
  static constexpr std::size_t kBlock = 64;
  std::vector<std::unique_ptr<TapeRecord[]>> blocks_;
  std::size_t size_ = 0;
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
  void require_own_thread(const char* what, Location at) const;
  std::vector<Grad> answer(const std::vector<Tensor>& targets, const std::vector<Tensor>& sources, const GradientOptions& options, Location at) const;
  // One slot for each id: what has arrived at that value so far.
  std::vector<Grad> reverse(const std::vector<bool>& needed, std::vector<Grad> adjoints) const;
  std::vector<bool> reachable_from(const std::vector<Tensor>& sources) const;

  NodeIds ids_;
  std::vector<Tensor> watched_;
  TapeRecords records_;
};

}  // namespace weft::inline v0
