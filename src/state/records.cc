#include "state/records.h"

#include <algorithm>
#include <memory>

namespace weft::inline v0 {

static_assert(sizeof(TapeRecord) % alignof(Tensor) == 0 && alignof(Attr) == alignof(Tensor) && alignof(TapeRecord) == alignof(Tensor));

const IdMap::Place IdMap::kNothing;

void IdMap::replace(std::uint64_t key, std::int32_t id) noexcept {
  if (add(key, id) == id) return;
  std::size_t at = hash(key) & mask_;
  while (own_[at].key != key) at = (at + 1) & mask_;
  own_[at].id = id;
}

void IdMap::grow(std::size_t keys) {
  std::size_t size = std::max<std::size_t>(own_.size(), 64);
  while (keys * 2 > size) size *= 2;
  std::vector<Place> old(size);
  old.swap(own_);
  table_ = own_.data();
  mask_ = size - 1;
  count_ = 0;
  for (const Place& place : old)
    if (place.key != 0) add(place.key, place.id);
}

TapeRecords::~TapeRecords() {
  for (TapeRecord* record : all_) {
    auto* const attrs = const_cast<Attr*>(record->attrs().data());
    if (record->num_attrs > 0) std::destroy_n(attrs, record->num_attrs);
    std::destroy_n(const_cast<Tensor*>(record->values()), record->num_values());
  }
}

void TapeRecords::add_block(std::size_t bytes) {
  const std::size_t size = std::max(bytes, kBlockBytes);
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
  free_ = blocks_.back().get();
  end_ = free_ + size;
}

TapeRecord& TapeRecords::append(const Op& op, Location at, AttrSpan attrs, std::span<Tensor> inputs, std::span<const std::int32_t> input_ids,
                                std::span<const Tensor> outputs, bool broken) {
  const std::size_t values = (broken ? 0 : inputs.size()) + outputs.size(), ids = input_ids.size() + outputs.size();
  const std::size_t needed = sizeof(TapeRecord) + values * sizeof(Tensor) + attrs.size() * sizeof(Attr) + ids * sizeof(std::int32_t);
  const std::size_t bytes = (needed + alignof(TapeRecord) - 1) / alignof(TapeRecord) * alignof(TapeRecord);
  if (bytes > static_cast<std::size_t>(end_ - free_)) add_block(bytes);
  if (all_.size() == all_.capacity()) all_.reserve(std::max<std::size_t>(64, 2 * all_.capacity()));
  auto* const record = new (free_) TapeRecord{.op = &op, .at = at, .num_inputs = static_cast<std::uint32_t>(input_ids.size()),
                                              .num_outputs = static_cast<std::uint32_t>(outputs.size()), .num_attrs = static_cast<std::uint32_t>(attrs.size()),
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
