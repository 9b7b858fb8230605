// The commit protocol: how reads and writes of slots become transactions.
//
// Outside of a transaction a read takes the slot's lock for a moment, and a write takes the turn, computes, and installs its value under
// the lock. A transaction collects reads and writes of its thread; in the end it takes the turns of what it wrote, locks those slots,
// looks whether they are as it saw them, and installs all values before it unlocks any.
//
// Why it holds (commit_model_test.cc tries every interleaving of small cases):
//   - Turns and locks are taken in the order of slot ids; a turn out of order is only tried for. So there is no deadlock.
//   - The lock around traces (function.cc) comes before turns: a body may wait for turns while it is traced, in init_scope. So whoever is about to wait,
//     for that lock or for a turn, has the blocks around it give back theirs, which go on as in their first tries. A WriteTransaction keeps its turns,
//     for it does not run again: what runs in one (update_together, a rule of an optimizer) only tries for the lock, and for a turn that is not behind
//     those in the order of ids, and if it is not to be had, throws StateError.
//   - All locks of a publication are held together, and all of a common read, so none sees half of the other.
//   - A later read of a transaction is checked against the earlier ones: if those have their versions still, all of them held at that
//     moment.
//   - Nothing between the first lock and the last unlock can throw: values and lists are made before.
#pragma once

#include "base/function_ref.h"
#include "base/room.h"
#include "core/op.h"
#include "core/update.h"
#include "state/slot.h"
#include <weft/transaction.h>
#include <weft/tree.h>

namespace weft::inline v0 {

/// What this thread sees of a slot: its transaction's write or snapshot, else the published value.
Tensor read(const SlotRef& slot, Location at);
Tensor read_latest(Slot& slot);
/// Tells a trace, if there is one, that what the program does depends on which slot this is.
void touch(const SlotRef& slot);
/// The values of many slots at one moment; those of the transaction, if one is open. REQUIRES: as many values as slots.
void read_together(std::span<const SlotRef> slots, std::span<Tensor> values);
/// The published values of slots that live at least as long as the call. REQUIRES: as many values, all of them undefined.
void read_published(std::span<Slot* const> slots, std::span<Tensor> values);
/// The same. REQUIRES: `order` has each of the slots once, by id.
void read_published(std::span<Slot* const> order, std::span<const SlotRef> slots, std::span<Tensor> values);

/// Writes; `by` must live as long as the program. Throws what Slot::require_fits does.
void write(const SlotRef& slot, Tensor value, Location at, const char* by);
/// value = f(value) with nobody's write between. f may run ops but is not run again; what it throws leaves the slot as it was.
void update(const SlotRef& slot, FunctionRef<Tensor(Tensor)> f, Location at, const char* by);
/// The same for a pointwise row of two inputs, value = op(value, x), in place if nobody can tell. Returns false, having done nothing,
/// unless the case is the simple one: no transaction, no interpreter, a small dense value of x's Spec. `op` has no attributes.
bool update_in_place(Slot& slot, const Op& op, const Tensor& x, Location at, const char* by);

/// A value that a traced program asks the host for whenever it is called.
struct EachCall {
  std::function<Tensor()> ask;
  Spec spec;  // sizes may be unknown
  Location at;
};
/// Asks. Throws DtypeError or ShapeError if it is not of the Spec.
Tensor ask_now(const EachCall& asked);

/// The value without the way to where it came from. No tape outside can follow what a call keeps to itself, so it must not see through it.
Tensor cut_off(Tensor value, Location at);

class Follower;  // state/follower.h

/// What slots hold while a program is traced: symbols instead of values.
class SlotSymbols {
 public:
  virtual ~SlotSymbols() = default;
  /// Asked once for each slot that is read before it is written.
  virtual Tensor symbol_for(const SlotRef& slot, Location at) = 0;
  /// What the program does depends on which slot this is: it is written, or looked at in another way than being read.
  virtual void touched(const SlotRef& slot) = 0;
  /// A Variable has been made: the slot that it has from now on.
  virtual SlotRef made(SlotRef slot) = 0;
  /// What a symbol is worth if that depends on nothing that a call brings; else an empty handle.
  virtual Tensor known(const Tensor& /*symbol*/) { return {}; }
  /// Whether what is known while tracing stays in a program that is called later.
  virtual bool freezes() const { return true; }
  /// A local one has been made: it is gone when the program ends, and nothing of it is published. StateError where nothing is called.
  virtual void made_local(const SlotRef& slot);
  /// What the program asks for anew whenever it is called. StateError where nothing is.
  virtual Tensor each_call(const EachCall& asked);
  /// A value that is known while tracing has decided, or is part of a part: it is listed, and refused where constants are. It is not held: passes
  /// look at who else holds a value.
  virtual void froze(const Tensor&, const Op*, Location) {}
  /// The program has gone through a tree: what Variables are called in it.
  virtual void walked(const NamedVariables&) {}
  /// The program gives a gradient of its own, which its ops do not show; of a call that hides one, these are the results.
  virtual void own_gradient(std::span<const Tensor> results) = 0;
  /// Who keeps such gradients, so that the program can be differentiated later; null: nobody.
  virtual Follower* keeper() { return nullptr; }
  /// Whether whoever differentiates the program later is shown its ops, each of them.
  virtual bool shows_ops() const { return false; }
  /// The program reads a floating Variable that it has written: to a tape that watches it and is to follow the whole, a read that it cannot see.
  virtual void own_read(const SlotRef& slot) = 0;
  /// A write: true if it has been taken, and the transaction is to forget what it knows of the slot.
  virtual bool takes(const SlotRef&, const Tensor& /*value*/, Location, const char* /*by*/) { return false; }
  /// A Function is called. If it writes, what is read and written until `leave_call` is one step. Results may be replaced; they are null if it failed.
  virtual void enter_call(bool /*writes*/) {}
  virtual void leave_call(bool /*writes*/, std::span<Tensor>* /*results*/) {}
};

/// The transaction of a block that runs now. Belongs to its thread.
class Transaction {
 public:
  static Transaction* current();
  /// Those of the trace that this thread makes now; null: it makes none.
  static SlotSymbols* tracing_symbols() { return current() != nullptr ? current()->symbols : nullptr; }

  Transaction() = default;
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Makes it the current one of the thread for a scope.
  class Scope {
   public:
    explicit Scope(Transaction* t);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class Transaction;
    Transaction* transaction_;
    mutable Scope* around_;  // scopes tend to be const, and one may end before those inside it
  };

  Tensor read(const SlotRef& slot, Location at);
  void write(const SlotRef& slot, Tensor value, Location at, const char* by);
  /// Snapshots these slots at one moment, so that reading them cannot conflict. Values that the transaction has already stay.
  void read_ahead(std::span<const SlotRef> slots);
  bool has_written(const SlotRef& slot) { return entry_of(slot).pending.defined(); }
  /// Takes the turns of these slots. REQUIRES: it has none yet and has read nothing.
  void reserve(CallList<Slot*> slots, const char* by = "atomically", Location at = {});

  /// Publishes all writes. Returns false, having published nothing, if there was a conflict (or a turn was not to be had in order).
  bool commit(bool validate_reads);
  /// Gives all turns back and forgets values, but not which slots were read and written.
  void forget() noexcept;
  /// The same; then takes turns and reads, as asked for.
  void start_over(bool reserve_turns, bool reserve_reads);
  /// Gives back the turns that blocks of this thread hold in later tries, also those around traces. They may be in conflict from here on, as in their
  /// first ones. Of the slots that updates hold all the same, the last by id is returned; null: there are none.
  static const Slot* give_back_turns() noexcept;
  bool in_conflict() const { return conflict_.slot != nullptr; }
  [[noreturn]] void throw_conflict(Location at) const;

  /// An inner block: what is written from here on can be undone.
  std::size_t enter();
  void leave(std::size_t mark, bool undo) noexcept;
  /// What has been written first since the inner block was entered; null: nothing.
  const Slot* written_since(std::size_t mark) const { return undo_.size() > mark ? entries_[undo_[mark].entry].slot.get() : nullptr; }

  /// Calls f(slot, value, by, at) for everything that has been written, in the order of the first uses.
  void each_write(FunctionRef<void(const SlotRef&, const Tensor&, const char*, Location)> f) const;

  SlotSymbols* symbols = nullptr;  // it is a trace: nothing is read from slots, nothing will be published
  std::int64_t step = -1;
  bool fixed_writes = false;  // only what was reserved may be written: nobody can run it again
  bool validates_reads = false;

 private:
  struct Entry {
    SlotRef slot;
    std::uint64_t version = 0;   // as it was seen
    bool current = false;        // has been seen in this run
    std::uint32_t batch = 0;     // together with the others of this number
    bool used = false;           // and asked for
    bool learned_write = false;  // some run has written it
    Tensor seen, pending;        // pending is defined once it is written
    const char* by = "";
    Location at{};               // of the write, else of the read
    void forget() { pending = seen = Tensor(), current = used = false; }
  };
  struct Undo {
    std::size_t entry;
    Tensor pending;
    const char* by;
    Location at;
  };
  struct Conflict {
    const Slot* slot = nullptr;
    Location mine{};
    bool wrote = false;
    WriteRecord theirs{};
  };
  struct Restart {};  // thrown through a body that cannot go on

  friend void detail::run_block(void (*)(void*), void*, AtomicOptions, Location);
  friend class WriteTransaction;

  Entry& entry_of(const SlotRef& slot);
  Entry& seen_entry(const SlotRef& slot, Location at);
  std::size_t* find_place(const Slot* slot);
  void check_fits_snapshot();
  void note_conflict(const Entry& entry);
  bool take_turns(std::span<Entry* const> writes);
  void give_turns() noexcept;

  CallList<Entry> entries_;
  CallList<std::size_t> places_;  // open addressing by slot: 0 is free, else 1 + the entry
  CallList<Undo> undo_;
  int depth_ = 0;
  std::uint32_t batches_ = 0;
  CallList<Slot*> turns_;         // held, by id
  Conflict conflict_;
};

/// A transaction that knows what it will write, and cannot conflict: it takes the turns, then its snapshot. Inside atomically it is part
/// of the block.
///
///   WriteTransaction step(slots, {}, at, "Adam");
///   step.value(0) = ...;            // may throw: then nothing has happened
///   step.publish();
class WriteTransaction {
 public:
  /// `reads` are snapshotted together with `writes`.
  WriteTransaction(std::span<const SlotRef> writes, std::span<const SlotRef> reads, Location at, const char* by, std::int64_t step = -1);
  ~WriteTransaction();
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  /// At first the value of writes[i]; what is put here is published. A slot that is named twice has one value, the later one.
  Tensor& value(std::size_t i) { return values_[i]; }
  /// Publishes those values that are not the ones it began with. At most once.
  void publish() { publish_values(false); }
  /// The same for all values: written is written, even the value that was there.
  void publish_all() { publish_values(true); }

  using Place = UpdatePlace;  // of writes[i]
  /// Publishes new values, all of them at one moment: of writes[i] what is in finished[i], if that is defined, else one of the old Spec that
  /// `kernel` computes from the old one; finished ones have no place. Old values that nobody else holds, and that are small or not read by other
  /// threads lately, change in place, and readers of those wait for the kernel.
  /// REQUIRES: the kernel throws nothing; no slot is named twice; all of value(i) are as they were. Throws OutOfMemoryError, and what
  /// Slot::require_fits does, before the kernel runs.
  void publish_in_place(FunctionRef<void(std::span<const Place>)> kernel, std::span<Tensor> finished = {});

 private:
  void publish_values(bool also_unchanged);
  void publish_into_new(FunctionRef<void(std::span<const Place>)> kernel, std::span<Tensor> finished);
  std::span<const SlotRef> slots() const { return slots_; }
  CallList<SlotRef> slots_;
  CallList<Tensor> values_, first_;
  Location at_;
  const char* by_;
  std::int64_t step_;
  Transaction own_;
  std::optional<Transaction::Scope> scope_;  // none if it is part of a block
};

}  // namespace weft::inline v0
