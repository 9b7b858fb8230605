// Transactions that know what they write: optimizer steps, and whatever else computes many new values at once.
#include <algorithm>

#include "state/transaction.h"

namespace weft::inline v0 {
namespace {

// Up to so many bytes in all, a kernel takes a reader less time than finding new memory would cost everybody.
constexpr std::int64_t kAlwaysInPlace = std::int64_t{512} << 10;

}  // namespace

void Transaction::each_write(FunctionRef<void(const SlotRef&, const Tensor&, const char*, Location)> f) const {
  for (const Entry& entry : entries_)
    if (entry.pending.defined()) f(entry.slot, entry.pending, entry.by, entry.at);
}

WriteTransaction::WriteTransaction(std::span<const SlotRef> writes, std::span<const SlotRef> reads, Location at, const char* by,
                                   std::int64_t step)
    : slots_(writes.begin(), writes.end()), at_(at), by_(by), step_(step) {
  CallList<SlotRef> both(writes.begin(), writes.end());
  both.insert(both.end(), reads.begin(), reads.end());
  values_.resize(slots_.size());
  first_.resize(slots_.size());
  Transaction* t = Transaction::current();
  if (t == nullptr) {
    t = &own_;
    CallList<Slot*> turns;
    turns.reserve(slots_.size());
    for (const SlotRef& slot : slots_) {
      turns.push_back(slot.get());
      own_.entry_of(slot).learned_write = true;
    }
    own_.fixed_writes = true;
    own_.step = step;
    own_.reserve(std::move(turns), by, at);
    scope_.emplace(t);
  }
  t->read_ahead(both);
  for (std::size_t i = 0; i < slots_.size(); ++i) first_[i] = values_[i] = t->read(slots_[i], at);
}

WriteTransaction::~WriteTransaction() = default;

void WriteTransaction::publish_values(bool also_unchanged) {
  Transaction& t = *Transaction::current();
  const std::size_t mark = t.enter();  // in a block, all of them are written or none
  try {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (also_unchanged || !values_[i].same_as(first_[i])) t.write(slots_[i], std::move(values_[i]), at_, by_);
  } catch (...) {
    t.leave(mark, true);
    throw;
  }
  t.leave(mark, false);
  if (!scope_) return;
  scope_.reset();
  if (!own_.commit(false)) throw InternalError("a Variable has changed under its turn", at_);
}

void WriteTransaction::publish_into_new(FunctionRef<void(std::span<const Place>)> kernel, std::span<Tensor> finished) {
  CallList<Place> places(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i < finished.size() && finished[i].defined()) {
      values_[i] = std::move(finished[i]);
      continue;
    }
    values_[i] = make_tensor(first_[i].spec());
    places[i] = {first_[i].node()->data, values_[i].node()->data};
  }
  kernel(places);
  publish_all();
}

void WriteTransaction::publish_in_place(FunctionRef<void(std::span<const Place>)> kernel, std::span<Tensor> finished) {
  if (!scope_) return publish_into_new(kernel, finished);
  const std::size_t count = slots_.size();
  CallList<Place> places(count);
  CallList<Slot*> order(count);
  CallList<Tensor> spares(count);  // what is installed
  CallList<Spec> specs(count);
  CallList<bool> changes(count);      // the kernel makes it
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = slots_[i].get();
    specs[i] = first_[i].spec();
    changes[i] = i >= finished.size() || !finished[i].defined();
    if (changes[i]) {
      bytes += bytes_of(specs[i]);
      continue;
    }
    spares[i] = with_own_node(std::move(finished[i]), by_, at_);
    order[i]->require_fits(by_, spares[i].spec(), at_);
  }
  std::sort(order.begin(), order.end(), [](const Slot* a, const Slot* b) { return a->id < b->id; });
  const bool small = bytes <= kAlwaysInPlace;
  // This transaction's own handles must not count. The turns are held, so the values stay.
  for (std::size_t i = 0; i < count; ++i) values_[i] = first_[i] = own_.entry_of(slots_[i]).seen = Tensor();
  const auto lock_all = [&] {
    for (Slot* slot : order) {
      slot->lock.lock();
      if (!small) slot->lock.stay_long();
    }
  };
  const auto unlock_all = [&] {
    for (Slot* slot : order)
      if (small) slot->lock.unlock();
      else slot->lock.unlock_long();
  };
  // Each round finds memory for what is held by others. A reader may come between the rounds, but not for a value that has a spare.
  for (;;) {
    lock_all();
    std::size_t missing = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!changes[i]) continue;
      const Slot& slot = *slots_[i];
      const bool in_place = slot.sole_holder() && (small || !slot.read_lately());
      if (!in_place && !spares[i].defined()) places[i].to = nullptr, ++missing;
      else places[i] = {slot.value.node()->data, spares[i].defined() ? spares[i].node()->data : slot.value.node()->data};
    }
    if (missing == 0) break;
    unlock_all();
    for (std::size_t i = 0; i < count; ++i)
      if (changes[i] && places[i].to == nullptr) spares[i] = make_tensor(specs[i]);
  }
  [&]() noexcept { kernel(places); }();
  for (std::size_t i = 0; i < count; ++i) {
    const WriteRecord write{.step = step_, .by = by_, .at = at_};
    if (spares[i].defined()) slots_[i]->install(spares[i], write);
    else slots_[i]->remember(write);
  }
  unlock_all();
  scope_.reset();
  own_.give_turns();
}

}  // namespace weft::inline v0
