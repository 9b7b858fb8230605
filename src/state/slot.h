// The slot behind a Variable.
#pragma once

#include <memory>

#include "core/node.h"
#include "state/turn.h"
#include <weft/variable.h>

namespace weft::inline v0 {

/// Its address is the thread's own. Initial-exec: every read of a Variable looks at it, and so it is one instruction instead of a call.
extern __thread char thread_mark __attribute__((tls_model("initial-exec")));

/// One value, its version, and who wrote it last.
///
/// Invariants:
///   - The words below `lock` change only under it; `version` may be looked at without, then a value that was seen once may have changed
///     since.
///   - A new value comes from the holder of the turn, or from somebody who found the turn free and never let go of the lock.
///   - The Node of `value` belongs to this slot: no other slot has it. Whoever else holds it has read it here.
///   - The bytes of `value` change only under the lock, while the slot holds the only handle to its Node and the only count of its
///     buffer: then nobody has read them who could look again.
struct Slot {
  Slot(Tensor initial, Spec declared, VariableOptions options, Location at);
  ~Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  static constexpr std::uint64_t kRemembered = 8;
  static constexpr std::uint64_t kRecentlyRead = 64;  // publications

  SlotLock lock;
  Turn turn;
  std::atomic<std::uint64_t> version{0};
  Tensor value;
  const void* writer = nullptr;                      // mark of the thread that published last
  std::uint64_t read_elsewhere = 0;                  // the version after which another thread has read the value; 0: none
  WriteRecord writes[kRemembered];                   // that of version v is at v % kRemembered

  /// A slot that stands in for an argument while a Function is traced, and a local one of the calls that are traced; afterwards they mean
  /// nothing. One thread traces. A slot of a graph with sessions names what each session holds for itself: only the thread that builds the
  /// graph may use it.
  enum class Role : std::uint8_t { kOwn, kStandsIn, kLocal, kExpired, kLocalExpired, kOfGraph };
  Role role = Role::kOwn;
  bool first_unknown = false;   // of a graph: only sessions know its first value, and `value` means nothing
  bool identity_asked = false;  // of one that stands in: it is not the one whose identity is meant
  const std::uint64_t id;
  const Spec declared;
  const VariableOptions options;
  const Location made_at;

  /// The one way in which a value becomes visible; `value` leaves with the old one. REQUIRES: locked; `value` has a Node of its own and
  /// fits.
  void install(Tensor& fresh, const WriteRecord& write) noexcept {
    std::swap(value, fresh);
    remember(write);
  }
  /// After a change of the value or of its bytes. REQUIRES: locked.
  void remember(const WriteRecord& write) noexcept {
    const std::uint64_t next = version.load(std::memory_order_relaxed) + 1;
    writes[next % kRemembered] = write;
    writes[next % kRemembered].version = next;
    writer = this_thread();
    version.store(next, std::memory_order_release);
  }
  /// REQUIRES: locked.
  Tensor read() noexcept {
    if (writer != this_thread()) read_elsewhere = version.load(std::memory_order_relaxed) + 1;
    // Nobody can copy the only handle but under the lock, so a second one needs no atomic change.
    Node* const node = value.node();
    if (node->count.load(std::memory_order_acquire) != 1) return value;
    node->count.store(2, std::memory_order_relaxed);
    return Tensor(node);
  }
  /// Whether nobody but the slot can see the bytes, now or before the lock is given up. REQUIRES: locked.
  bool sole_holder() const {
    const Node& node = *value.node();
    return node.count.load(std::memory_order_acquire) == 1 && (!node.buffer || node.buffer->writable());
  }
  /// Whether other threads have read it lately, and would wait for a long change in place. REQUIRES: locked, or the turn.
  bool read_lately() const { return read_elsewhere != 0 && read_elsewhere + kRecentlyRead > version.load(std::memory_order_relaxed); }

  std::string title() const;  ///< 'Variable "w"', or 'the Variable made at net.cc:7'
  /// Throws DtypeError or ShapeError unless a value of this Spec may be written.
  void require_fits(const char* by, const Spec& spec, Location at) const;

  static std::uint64_t last_id();  ///< of the slot that was made last
  static const void* this_thread() { return &thread_mark; }
};

using SlotRef = std::shared_ptr<Slot>;

/// How many graphs with sessions this thread is building.
extern thread_local int graphs_being_built;

namespace detail {
/// Thrown through a body that asks which Variable it has been given, while another one stands in for it.
struct IdentityAsked {};
}  // namespace detail

/// `x` with a Node that nobody else has, so that a slot may own it. Throws TraceError for a symbolic value.
Tensor with_own_node(Tensor x, const char* by, Location at);

/// "net.cc:7"
std::string place_text(Location at);

}  // namespace weft::inline v0
