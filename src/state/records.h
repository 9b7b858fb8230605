// What a tape remembers: calls, and which values they were about.
#pragma once

#include <algorithm>
#include <memory>

#include "core/op.h"

namespace weft::inline v0 {

// The id that a tape gives to a value says what it knows about it:
//   0, 1, ...   gradients flow to it; consecutive, in the order in which the tape meets them
//   -1          nothing
//   -2, -3, ... it depends on a followed value, but no gradient flows on the way here
inline constexpr std::int32_t kUnknownId = -1;

/// Maps keys (any number but 0) to ids. Open addressing: a lookup is a hash and, mostly, one comparison.
class IdMap {
 public:
  IdMap() = default;
  IdMap(const IdMap&) = delete;
  IdMap& operator=(const IdMap&) = delete;

  std::int32_t find(std::uint64_t key) const {
    for (std::size_t at = hash(key) & mask_;; at = (at + 1) & mask_) {
      if (table_[at].key == key) return table_[at].id;
      if (table_[at].key == 0) return kUnknownId;
    }
  }
  /// Makes room for so many more keys: the only member that may throw, and then nothing has changed.
  void reserve(std::size_t more) {
    if ((count_ + more) * 2 > own_.size()) grow(count_ + more);
  }
  /// The id of the key, which is `id` if it had none. REQUIRES: room.
  std::int32_t add(std::uint64_t key, std::int32_t id) noexcept {
    Place* const own = own_.data();
    std::size_t at = hash(key) & mask_;
    while (own[at].key != 0) {
      if (own[at].key == key) return own[at].id;
      at = (at + 1) & mask_;
    }
    own[at] = {key, id};
    ++count_;
    return id;
  }
  void replace(std::uint64_t key, std::int32_t id) noexcept;  // REQUIRES: as `add`
  void clear() noexcept;

 private:
  struct Place {
    std::uint64_t key = 0;
    std::int32_t id = kUnknownId;
  };
  static const Place kNothing;
  static std::size_t hash(std::uint64_t key) { return key * 0x9e3779b97f4a7c15ull >> 20; }  // its low bits are those of an aligned address
  void grow(std::size_t keys);

  const Place* table_ = &kNothing;  // of own_, once there is one
  std::size_t mask_ = 0;
  std::vector<Place> own_;
  std::size_t count_ = 0;
};

/// One call. Its parts of variable length lie behind it in memory.
///
/// A call through which gradients flow holds its inputs and outputs. One through which none flow ("broken": the op has none by definition,
/// or no followed value went in) holds its outputs only, so that their addresses stay theirs; it is there to explain.
struct TapeRecord {
  const Op* op;
  Location at;
  std::uint32_t num_inputs = 0, num_outputs = 0, num_attrs = 0;
  std::int32_t custom = -1;  // the tape's gradient function of that number instead of the row's
  bool broken = false;

  std::span<const Tensor> inputs() const { return {values(), broken ? 0 : num_inputs}; }
  std::span<const Tensor> outputs() const { return {values() + (broken ? 0 : num_inputs), num_outputs}; }
  AttrSpan attrs() const { return {reinterpret_cast<const Attr*>(values() + num_values()), num_attrs}; }
  std::span<const std::int32_t> input_ids() const { return {ids(), num_inputs}; }
  std::span<const std::int32_t> output_ids() const { return {ids() + num_inputs, num_outputs}; }
  std::span<std::int32_t> output_ids() { return {const_cast<std::int32_t*>(ids()) + num_inputs, num_outputs}; }

  std::size_t num_values() const { return (broken ? 0 : num_inputs) + num_outputs; }
  const Tensor* values() const { return reinterpret_cast<const Tensor*>(this + 1); }
  const std::int32_t* ids() const { return reinterpret_cast<const std::int32_t*>(attrs().data() + num_attrs); }
};

/// Records in the order in which they were made. They lie in blocks and never move.
class TapeRecords {
 public:
  TapeRecords() = default;
  ~TapeRecords() { clear(); }
  TapeRecords(const TapeRecords&) = delete;
  TapeRecords& operator=(const TapeRecords&) = delete;

  /// A record of a call. Takes the handles in `inputs`, unless it is broken. Its output_ids are to be filled. If it throws, nothing has
  /// changed.
  TapeRecord& append(const Op& op, Location at, AttrSpan attrs, std::span<Tensor> inputs, std::span<const std::int32_t> input_ids,
                     std::span<const Tensor> outputs, bool broken);
  void clear() noexcept;
  std::size_t size() const { return all_.size(); }
  const TapeRecord& operator[](std::size_t i) const { return *all_[i]; }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{16} << 10;
  void add_block(std::size_t bytes);

  std::vector<TapeRecord*> all_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte *free_ = nullptr, *end_ = nullptr;  // of the last block
};

inline TapeRecord& TapeRecords::append(const Op& op, Location at, AttrSpan attrs, std::span<Tensor> inputs,
                                std::span<const std::int32_t> input_ids, std::span<const Tensor> outputs, bool broken) {
  const std::size_t values = (broken ? 0 : inputs.size()) + outputs.size(), ids = input_ids.size() + outputs.size();
  const std::size_t needed = sizeof(TapeRecord) + values * sizeof(Tensor) + attrs.size() * sizeof(Attr) + ids * sizeof(std::int32_t);
  const std::size_t bytes = (needed + alignof(TapeRecord) - 1) / alignof(TapeRecord) * alignof(TapeRecord);
  if (bytes > static_cast<std::size_t>(end_ - free_)) add_block(bytes);
  if (all_.size() == all_.capacity()) all_.reserve(std::max<std::size_t>(64, 2 * all_.capacity()));
  auto* const record = new (free_) TapeRecord{.op = &op,
                                              .at = at,
                                              .num_inputs = static_cast<std::uint32_t>(input_ids.size()),
                                              .num_outputs = static_cast<std::uint32_t>(outputs.size()),
                                              .num_attrs = static_cast<std::uint32_t>(attrs.size()),
                                              .broken = broken};
  auto* value = reinterpret_cast<Tensor*>(record + 1);
  auto* const attr = reinterpret_cast<Attr*>(value + values);
  auto* id = reinterpret_cast<std::int32_t*>(attr + attrs.size());
  if (!attrs.empty()) std::uninitialized_copy(attrs.begin(), attrs.end(), attr);  // the last that may throw
  if (!broken)
    for (Tensor& input : inputs) new (value++) Tensor(std::move(input));
  for (const Tensor& output : outputs) new (value++) Tensor(output);
  for (const std::int32_t known : input_ids) *id++ = known;
  free_ += bytes;
  all_.push_back(record);
  return *record;
}

}  // namespace weft::inline v0
