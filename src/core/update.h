// Bodies of update rules: a function of one lane of all streams, compiled for each element type and instruction set; and their calls, which
// can be prepared, so that nothing is left that could fail.
#pragma once

#include <array>
#include <tuple>

#include "base/room.h"
#include "core/apply.h"
#include "kernels/update.h"

namespace weft::inline v0 {

/// The constants of a rule in one step. The first is the weight decay: x loses x * numbers[kDecay] before the rule sees it.
using UpdateNumbers = std::array<double, 8>;
inline constexpr std::size_t kDecay = 0;

/// What the body of a row says about one call. `inputs` and `outputs` count streams: lists of tensors that lie one behind the other in the
/// list input.
struct UpdateLanes {
  kernels::UpdateFn fn;
  int inputs, outputs;
  UpdateNumbers numbers;
};

/// Where an old value lies, and where the new one goes. Both may be the same.
struct UpdatePlace {
  const void* from = nullptr;
  void* to = nullptr;
};

/// Whether calls of a row on values of this dtype can be prepared: update rows, and kernels that change a few places.
inline bool can_prepare(const Op& op, DType dtype) {
  return op.update != nullptr || (op.is(kChanges) && (op.is(kMoves) || !is_half(dtype)));
}
/// The first of the inputs whose places the results can take: input first_changed + i for result i.
inline std::size_t first_changed(const Op& op) { return op.update != nullptr ? op.inputs.size() - 1 : 0; }

/// A call of an update row, or of a kernel that changes a few places, of which nothing can fail any more. Holds what it only reads, not what it
/// writes anew.
class PreparedUpdate {
 public:
  /// REQUIRES: can_prepare; the call has been checked and validated.
  PreparedUpdate(const Call& call, const Specs& specs);
  static std::span<Tensor> changed(const Call& call) { return call.inputs.subspan(first_changed(call.op)); }

  /// The old value of result i is read at `from`; the new one goes to `to`, which may be `from`.
  void place(std::size_t i, const void* from, void* to);
  /// REQUIRES: all results have been placed. Throws nothing, needs no memory.
  void run() noexcept;

 private:
  void prepare_lanes(const Call& call, const Specs& specs);
  // Of a kernel.
  const Op* op_ = nullptr;
  CallList<Attr> attrs_;
  Location at_;
  Specs specs_;
  Tensors inputs_, results_;  // the first of each has no memory of its own: it is where it was placed
  // Of an update row.
  UpdateLanes lanes_;
  std::size_t count_;  // tensors in a stream
  DType dtype_;
  alignas(8) unsigned char constants_[sizeof(UpdateNumbers)];
  CallList<Tensor> read_;
  CallList<kernels::UpdateTensor> tensors_;
  CallList<std::size_t> starts_;
};

namespace detail {

// Rule::lane(numbers, g, size, x, slots...) changes x and the slots in place; `size` is what Rule::size(g) gives, or what was given for it.
template <class Rule, class T, bool sizes_given, std::size_t... I>
[[gnu::always_inline]] inline void update_loop(const void* const* in, void* const* out, const void* numbers, std::size_t n,
                                               std::index_sequence<I...>) {
  constexpr std::size_t kept = sizeof...(I);  // the parameter and its slots
  const auto inputs = std::make_tuple(static_cast<const T*>(in[I])...);
  const auto outputs = std::make_tuple(static_cast<T*>(out[I])...);
  const T* const gradients = static_cast<const T*>(in[kept]);
  const T* const sizes = sizes_given ? static_cast<const T*>(in[kept + 1]) : nullptr;
  T c[UpdateNumbers().size()];
  for (std::size_t i = 0; i < std::size(c); ++i) c[i] = static_cast<const T*>(numbers)[i];
  const bool decays = c[kDecay] != T(0);
  WEFT_INDEPENDENT
  for (std::size_t k = 0; k < n; ++k) {
    T kept_lanes[kept] = {std::get<I>(inputs)[k]...};
    const T g = gradients[k];
    kept_lanes[0] = decays ? kept_lanes[0] - kept_lanes[0] * c[kDecay] : kept_lanes[0];
    if constexpr (sizes_given) Rule::lane(c, g, sizes[k], kept_lanes[I]...);
    else Rule::lane(c, g, Rule::size(g), kept_lanes[I]...);
    ((std::get<I>(outputs)[k] = kept_lanes[I]), ...);
  }
}

template <class Rule, class T, bool sizes_given>
[[gnu::flatten]] void update_baseline(const void* const* in, void* const* out, const void* numbers, std::size_t n) {
  update_loop<Rule, T, sizes_given>(in, out, numbers, n, std::make_index_sequence<Rule::kSlots + 1>{});
}
#if defined(__x86_64__)
template <class Rule, class T, bool sizes_given>
[[gnu::flatten, gnu::target("avx2,bmi2")]] void update_v3(const void* const* in, void* const* out, const void* numbers, std::size_t n) {
  update_loop<Rule, T, sizes_given>(in, out, numbers, n, std::make_index_sequence<Rule::kSlots + 1>{});
}
template <class Rule, class T, bool sizes_given>
[[gnu::flatten, gnu::target(WEFT_TARGET_V4)]] void update_v4(const void* const* in, void* const* out, const void* numbers, std::size_t n) {
  update_loop<Rule, T, sizes_given>(in, out, numbers, n, std::make_index_sequence<Rule::kSlots + 1>{});
}
#endif

}  // namespace detail

/// The clones of a rule's loop; like those of tile bodies they round alike. T is float or double.
template <class Rule, class T, bool sizes_given>
kernels::PerIsa<kernels::UpdateFn> update_clones() {
#if defined(__x86_64__)
  if constexpr (detail::kClones)
    return {{&detail::update_baseline<Rule, T, sizes_given>, &detail::update_v3<Rule, T, sizes_given>,
             &detail::update_v4<Rule, T, sizes_given>}};
#endif
  return {{&detail::update_baseline<Rule, T, sizes_given>, &detail::update_baseline<Rule, T, sizes_given>,
           &detail::update_baseline<Rule, T, sizes_given>}};
}

}  // namespace weft::inline v0
