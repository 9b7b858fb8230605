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

void IdMap::clear() noexcept {
  std::vector<Place>().swap(own_);
  table_ = &kNothing;
  mask_ = count_ = 0;
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

void TapeRecords::clear() noexcept {
  for (TapeRecord* record : all_) {
    auto* const attrs = const_cast<Attr*>(record->attrs().data());
    if (record->num_attrs > 0) std::destroy_n(attrs, record->num_attrs);
    std::destroy_n(const_cast<Tensor*>(record->values()), record->num_values());
  }
  std::vector<TapeRecord*>().swap(all_);
  std::vector<std::unique_ptr<std::byte[]>>().swap(blocks_);
  free_ = end_ = nullptr;
}

void TapeRecords::add_block(std::size_t bytes) {
  const std::size_t size = std::max(bytes, kBlockBytes);
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
  free_ = blocks_.back().get();
  end_ = free_ + size;
}

}  // namespace weft::inline v0
