#include "state/transaction.h"

#include <algorithm>

#include "base/planted.h"
#include "core/apply.h"

namespace weft::inline v0 {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local Transaction* current_transaction = nullptr;  // of the innermost scope
__attribute__((tls_model("initial-exec"))) thread_local Transaction::Scope* innermost_scope = nullptr;

bool by_id(const Slot* a, const Slot* b) { return a->id < b->id; }

// Takes a turn. An update around keeps its own turns meanwhile, so for one out of their order, or one of them, nobody waits.
void take_turn(Slot& slot, const char* by, Location at) {
  if (!slot.turn.taken() && slot.turn.try_take(slot.lock)) return;
  const Slot* const held = Transaction::give_back_turns();
  if (held == nullptr || by_id(held, &slot)) return slot.turn.take(slot.lock);
  if (slot.turn.try_take(slot.lock)) return;
  throw StateError(by, slot.title() + " is being changed, and the update around, which holds " + held->title() + ", cannot wait for that; write it before or "
                           "after the update.", at);
}

// One value of one slot. `fresh` leaves with the old value, which dies when nothing is locked any more.
void publish_alone(Slot& slot, Tensor& fresh, const WriteRecord& write) {
  slot.lock.lock();
  if (!slot.turn.taken()) {
    slot.install(fresh, write);
    return slot.lock.unlock();
  }
  slot.lock.unlock();
  take_turn(slot, write.by, write.at);
  slot.lock.lock();
  slot.install(fresh, write);
  slot.turn.give_locked();
  slot.lock.unlock();
}

// The values of slots at one moment. REQUIRES: `order` has each of them once, by id; no value is defined.
template <class Pointer>
void read_locked(std::span<Slot* const> order, std::span<const Pointer> slots, std::span<Tensor> values) {
  for (Slot* slot : order) slot->lock.lock();
  for (std::size_t i = 0; i < slots.size(); ++i) values[i] = slots[i]->read();
  for (Slot* slot : order) slot->lock.unlock();
}

Tensor take_turn_and_read(Slot& slot, const char* by, Location at) {
  slot.lock.lock();
  if (slot.turn.taken()) {
    slot.lock.unlock();
    take_turn(slot, by, at);
    slot.lock.lock();
  } else {
    slot.turn.take_free();
  }
  Tensor value = slot.read();
  slot.lock.unlock();
  return value;
}

[[noreturn]] void no_memory(const Slot& slot, const char* by, Location at) {
  throw OutOfMemoryError(by, "there is no memory for the new value of " + slot.title() + "; it has not changed.", at);
}

// The write that came after version `seen`, or the oldest since that is remembered. REQUIRES: locked.
WriteRecord first_write_after(const Slot& slot, std::uint64_t seen) {
  const std::uint64_t now = slot.version.load(std::memory_order_relaxed);
  const std::uint64_t oldest = now < Slot::kRemembered ? 0 : now - Slot::kRemembered + 1;
  return slot.writes[std::max(seen + 1, oldest) % Slot::kRemembered];
}

}  // namespace

Transaction* Transaction::current() { return current_transaction; }
Transaction::Scope::Scope(Transaction* t) : transaction_(t), around_(std::exchange(innermost_scope, this)) { current_transaction = t; }
Transaction::Scope::~Scope() {
  Scope** place = &innermost_scope;
  while (*place != this) place = &(*place)->around_;
  *place = around_;
  current_transaction = innermost_scope == nullptr ? nullptr : innermost_scope->transaction_;
}

// --- alone ---

Tensor read_latest(Slot& slot) {
  slot.lock.lock();
  Tensor value = slot.read();
  slot.lock.unlock();
  return value;
}

Tensor read(const SlotRef& slot, Location at) {
  return current_transaction == nullptr ? read_latest(*slot) : current_transaction->read(slot, at);
}

void touch(const SlotRef& slot) {
  if (current_transaction != nullptr && current_transaction->symbols != nullptr) current_transaction->symbols->touched(slot);
}

void read_together(std::span<const SlotRef> slots, std::span<Tensor> values) {
  if (Transaction* t = current_transaction; t != nullptr && (!planted(Bug::kReadsPublished) || t->symbols != nullptr)) {
    t->read_ahead(slots);
    for (std::size_t i = 0; i < slots.size(); ++i) values[i] = t->read(slots[i], {});
    return;
  }
  CallList<Slot*> borrowed(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) borrowed[i] = slots[i].get();
  CallList<Tensor> fresh(slots.size());  // what stands in `values` must not die under the locks
  read_published(borrowed, fresh);
  for (std::size_t i = 0; i < slots.size(); ++i) std::swap(fresh[i], values[i]);
}

void read_published(std::span<Slot* const> slots, std::span<Tensor> values) {
  const auto comes_after = [](const Slot* a, const Slot* b) { return !by_id(a, b); };
  if (std::adjacent_find(slots.begin(), slots.end(), comes_after) == slots.end()) return read_locked(slots, slots, values);  // trees are made in order
  CallList<Slot*> order(slots.begin(), slots.end());
  std::sort(order.begin(), order.end(), by_id);
  order.erase(std::unique(order.begin(), order.end()), order.end());
  read_locked(order, slots, values);
}

void read_published(std::span<Slot* const> order, std::span<const SlotRef> slots, std::span<Tensor> values) { read_locked(order, slots, values); }

void write(const SlotRef& slot, Tensor value, Location at, const char* by) {
  try {
    if (current_transaction != nullptr) return current_transaction->write(slot, std::move(value), at, by);
    value = with_own_node(std::move(value), by, at);
    slot->require_fits(by, value.spec(), at);
  } catch (const std::bad_alloc&) {
    no_memory(*slot, by, at);
  }
  publish_alone(*slot, value, {.step = -1, .by = by, .at = at});
}

void update(const SlotRef& slot, FunctionRef<Tensor(Tensor)> f, Location at, const char* by) {
  if (Transaction* t = current_transaction) return write(slot, f(t->read(slot, at)), at, by);
  Tensor fresh = take_turn_and_read(*slot, by, at);
  try {
    fresh = with_own_node(f(std::move(fresh)), by, at);
    slot->require_fits(by, fresh.spec(), at);
  } catch (const std::bad_alloc&) {
    slot->turn.give(slot->lock);
    no_memory(*slot, by, at);
  } catch (...) {
    slot->turn.give(slot->lock);
    throw;
  }
  slot->lock.lock();
  slot->install(fresh, {.step = -1, .by = by, .at = at});
  slot->turn.give_locked();
  slot->lock.unlock();
}

bool update_in_place(Slot& slot, const Op& op, const Tensor& x, Location at, const char* by) {
  if (current_transaction != nullptr || Interpreter::top() != nullptr) return false;
  const Node& other = *x.node();
  const kernels::TileFn fn = op.tile.for_dtype(other.spec.dtype);
  if (fn == nullptr || is_half(other.spec.dtype) || other.symbolic || op.tile.result(other.spec.dtype) != other.spec.dtype) return false;
  const auto size = static_cast<std::size_t>(other.spec.shape.num_elements());
  if (!kernels::is_serial(size, op.tile.work())) return false;
  slot.lock.lock();
  Node& node = *slot.value.node();
  if (slot.turn.taken() || node.spec != other.spec || !slot.sole_holder()) {
    slot.lock.unlock();
    return false;
  }
  const void* const lanes[] = {node.data, other.data};
  fn(lanes, node.data, size);
  slot.remember({.step = -1, .by = by, .at = at});
  slot.lock.unlock();
  return true;
}

// --- a transaction ---

Transaction::~Transaction() { give_turns(); }

Transaction::Entry& Transaction::entry_of(const SlotRef& slot) {
  constexpr std::size_t kFew = 8;
  if (entries_.size() <= kFew) {
    for (Entry& entry : entries_)
      if (entry.slot == slot) return entry;
  } else if (std::size_t* place = find_place(slot.get()); *place != 0) {
    return entries_[*place - 1];
  }
  if (entries_.empty()) entries_.reserve(kFew);
  entries_.emplace_back();
  try {
    if (entries_.size() > kFew && entries_.size() * 2 > places_.size()) {
      CallList<std::size_t> larger(std::max<std::size_t>(64, places_.size() * 4), 0);
      places_.swap(larger);
      for (std::size_t i = 0; i + 1 < entries_.size(); ++i) *find_place(entries_[i].slot.get()) = i + 1;
    }
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  entries_.back().slot = slot;
  if (entries_.size() > kFew) *find_place(slot.get()) = entries_.size();
  return entries_.back();
}

std::size_t* Transaction::find_place(const Slot* slot) {
  const std::size_t mask = places_.size() - 1;
  for (std::size_t at = slot->id * 0x9e3779b97f4a7c15ull >> 32;; ++at)
    if (std::size_t& place = places_[at & mask]; place == 0 || entries_[place - 1].slot.get() == slot) return &place;
}

Transaction::Entry& Transaction::seen_entry(const SlotRef& slot, Location at) {
  if (in_conflict()) throw Restart{};
  Entry& entry = entry_of(slot);
  if (!entry.current && symbols != nullptr) {
    entry.seen = symbols->symbol_for(slot, at);
    entry.current = true;
  } else if (!entry.current) {
    slot->lock.lock();
    entry.seen = slot->read();
    entry.version = slot->version.load(std::memory_order_relaxed);
    slot->lock.unlock();
    entry.current = true;
    entry.batch = ++batches_;
    check_fits_snapshot();
  }
  if (!entry.used) entry.at = at;
  entry.used = true;
  return entry;
}

// If every earlier value still has its version after the last batch was read, all of them held together at that moment. What was read ahead
// and not asked for yet may be forgotten.
void Transaction::check_fits_snapshot() {
  for (Entry& entry : entries_) {
    if (!entry.current || entry.batch == batches_ || entry.slot->version.load(std::memory_order_acquire) == entry.version) continue;
    if (entry.used) {
      entry.slot->lock.lock();
      note_conflict(entry);
      entry.slot->lock.unlock();
      if (fixed_writes) throw_conflict(entry.at);
      throw Restart{};
    }
    entry.current = false;
    entry.seen = Tensor();
  }
}

// REQUIRES: entry.slot is locked.
void Transaction::note_conflict(const Entry& entry) {
  conflict_ = {entry.slot.get(), entry.at, entry.pending.defined(), first_write_after(*entry.slot, entry.version)};
}

void Transaction::throw_conflict(Location at) const {
  const WriteRecord& theirs = conflict_.theirs;
  const Location mine = conflict_.mine.line != 0 ? conflict_.mine : at;  // a conversion to Tensor does not know its line
  throw ConflictError("atomically", conflict_.slot->title() + ", " + (conflict_.wrote ? "written" : "read") + " at " + place_text(mine) +
                          ", was changed meanwhile by " + theirs.by + " at " + place_text(theirs.at) +
                          "; run the block again, or allow more retries.", at);
}

Tensor Transaction::read(const SlotRef& slot, Location at) {
  if (symbols != nullptr)
    if (const Entry& entry = entry_of(slot); entry.pending.defined()) return planted(Bug::kReadsBeforeWrites) ? symbols->symbol_for(slot, at) : entry.pending;
  Entry& entry = seen_entry(slot, at);
  return entry.pending.defined() ? entry.pending : entry.seen;
}

void Transaction::write(const SlotRef& slot, Tensor value, Location at, const char* by) {
  if (symbols == nullptr || !value.defined() || !value.node()->symbolic) {
    const Origin origin = value.defined() ? value.node()->made_at() : Origin();
    value = with_own_node(std::move(value), by, at);
    if (symbols != nullptr) value.node()->set_made_at(origin);  // nothing is published, and a number stays one of the program
  }
  slot->require_fits(by, value.spec(), at);
  if (slot->role == Slot::Role::kLocal) value = cut_off(std::move(value), at);
  Entry& entry = symbols != nullptr ? entry_of(slot) : seen_entry(slot, at);
  if (symbols != nullptr) symbols->touched(slot);  // also of what will be undone: those who read it meanwhile have seen it
  if (symbols != nullptr && symbols->takes(slot, value, at, by)) return entry.forget();
  if (fixed_writes && !entry.learned_write)
    throw StateError(by, slot->title() + " is not one of those that this update has been given to write; write it before or after.", at);
  if (planted(Bug::kKeepsFirstWrite) && symbols != nullptr && entry.pending.defined()) return;
  if (depth_ > 0) undo_.push_back({static_cast<std::size_t>(&entry - entries_.data()), entry.pending, entry.by, entry.at});
  entry.pending = std::move(value);
  entry.by = by;
  entry.at = at;
  entry.learned_write = true;
}

void Transaction::read_ahead(std::span<const SlotRef> slots) {
  if (symbols != nullptr) return;
  if (in_conflict()) throw Restart{};
  entries_.reserve(entries_.size() + slots.size());
  for (const SlotRef& slot : slots) entry_of(slot);
  CallList<Entry*> wanted;
  wanted.reserve(slots.size());
  for (const SlotRef& slot : slots)
    if (Entry& entry = entry_of(slot); !entry.current) {
      entry.current = true;  // so that a slot named twice is wanted once
      wanted.push_back(&entry);
    }
  if (wanted.empty()) return;
  std::sort(wanted.begin(), wanted.end(), [](const Entry* a, const Entry* b) { return by_id(a->slot.get(), b->slot.get()); });
  ++batches_;
  for (Entry* entry : wanted) entry->slot->lock.lock();
  for (Entry* entry : wanted) {
    entry->batch = batches_;
    entry->seen = entry->slot->read();
    entry->version = entry->slot->version.load(std::memory_order_relaxed);
  }
  for (Entry* entry : wanted) entry->slot->lock.unlock();
  check_fits_snapshot();
}

void Transaction::reserve(CallList<Slot*> slots, const char* by, Location at) {
  std::sort(slots.begin(), slots.end(), by_id);
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  turns_.reserve(slots.size());
  for (Slot* slot : slots) {
    take_turn(*slot, by, at);
    turns_.push_back(slot);
  }
}

void Transaction::give_turns() noexcept {
  for (Slot* slot : turns_) slot->turn.give(slot->lock);
  turns_.clear();
}

const Slot* Transaction::give_back_turns() noexcept {
  const Slot* last = nullptr;
  for (const Scope* scope = innermost_scope; scope != nullptr; scope = scope->around_) {
    Transaction* const t = scope->transaction_;
    if (t == nullptr || t->turns_.empty()) continue;
    if (!t->fixed_writes) t->give_turns();
    else if (last == nullptr || by_id(last, t->turns_.back())) last = t->turns_.back();
  }
  return last;
}

// REQUIRES: writes are in the order of ids.
bool Transaction::take_turns(std::span<Entry* const> writes) {
  turns_.reserve(turns_.size() + writes.size());
  const std::uint64_t last = turns_.empty() ? 0 : turns_.back()->id;  // beyond it, waiting is in order
  const auto held = turns_.end();  // stays valid: there is room. Up to here they are in order
  auto next = turns_.begin();
  for (Entry* entry : writes) {
    Slot* const slot = entry->slot.get();
    while (next != held && by_id(*next, slot)) ++next;
    if (next != held && *next == slot) continue;
    if (slot->id > last) take_turn(*slot, entry->by, entry->at);
    else if (!slot->turn.try_take(slot->lock)) return false;
    turns_.push_back(slot);
  }
  return true;
}

bool Transaction::commit(bool validate_reads) {
  if (in_conflict()) return false;
  SmallVector<Entry*, 16> writes, locked;
  for (Entry& entry : entries_) {
    if (entry.pending.defined()) writes.push_back(&entry);
    if (entry.pending.defined() || (validate_reads && entry.used)) locked.push_back(&entry);
  }
  if (writes.empty()) return true;  // what it read held together at the moment of its last read
  const auto in_order = [](const Entry* a, const Entry* b) { return a->slot->id < b->slot->id; };
  std::sort(writes.begin(), writes.end(), in_order);
  std::sort(locked.begin(), locked.end(), in_order);

  const auto lock_all = [&] { for (Entry* entry : locked) entry->slot->lock.lock(); };
  const auto unlock_all = [&] { for (Entry* entry : locked) entry->slot->lock.unlock(); };
  bool free = turns_.empty();
  if (free) {
    lock_all();
    for (Entry* entry : writes) free = free && !entry->slot->turn.taken();
    if (!free) unlock_all();
  }
  if (!free) {  // somebody writes one of them, or turns were taken before: then all are needed
    if (!take_turns(writes)) {
      give_turns();
      return false;
    }
    lock_all();
  }
  for (Entry* entry : locked)
    if (entry->slot->version.load(std::memory_order_relaxed) != entry->version) {
      note_conflict(*entry);
      unlock_all();
      give_turns();
      return false;
    }
  for (Entry* entry : writes) entry->slot->install(entry->pending, {.step = step, .by = entry->by, .at = entry->at});
  unlock_all();
  give_turns();
  return true;
}

}  // namespace weft::inline v0
