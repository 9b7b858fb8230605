// atomically: many changes of Variables as one.
//
//   atomically([&] {
//     Tensor amount = 10.f;
//     from.assign_sub(amount);
//     if (static_cast<bool>(from < 0)) throw std::runtime_error("not enough");   // neither Variable has changed
//     to.assign_add(amount);
//   });
//
// A block reads one consistent snapshot, sees its own writes in program order, and publishes all of them when it ends, or none if it
// throws. Others see either nothing of it or everything. A lone `assign` outside of a block is a block of one line.
//
// Isolation: what a block writes must not have changed since it read it; if it has, the block runs again (the body may therefore run more
// than once), after three failures with its Variables reserved, so that it ends. What it only reads may change meanwhile (snapshot
// isolation: two blocks that each read what the other writes may both succeed) unless validate_reads is set.
// Blocks nest: an inner block is part of the outer one, but if it throws, it is undone to its own beginning even if the exception is
// caught.
//
// Thread safety: a block belongs to the thread that runs it; other threads, also those it starts, see published values only.
// Waiting inside a block for another thread that writes the same Variables may never end.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <weft/error.h>

namespace weft::inline v0 {

struct AtomicOptions {
  bool validate_reads = false;  ///< what was only read must be unchanged at the end, too
  int retry = -1;               ///< how often to run again after a conflict; -1: until it succeeds. Then: ConflictError
};

namespace detail {
WEFT_API void run_block(void (*body)(void*), void* context, AtomicOptions options, Location at);
}

/// Runs `body()` as one transaction and returns what it returns. Throws what the body throws, and ConflictError.
template <class F>
auto atomically(F&& body, AtomicOptions options = {}, Location at = Location::here()) -> std::invoke_result_t<F&> {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<Result>) {
    auto call = [&] { static_cast<void>(body()); };
    detail::run_block([](void* c) { (*static_cast<decltype(call)*>(c))(); }, &call, options, at);
  } else if constexpr (std::is_reference_v<Result>) {
    std::remove_reference_t<Result>* result = nullptr;
    auto call = [&] { Result made = body(); result = &made; };
    detail::run_block([](void* c) { (*static_cast<decltype(call)*>(c))(); }, &call, options, at);
    return static_cast<Result>(*result);
  } else {
    std::optional<Result> result;
    auto call = [&] { result.reset(); result.emplace(body()); };
    detail::run_block([](void* c) { (*static_cast<decltype(call)*>(c))(); }, &call, options, at);
    return std::move(*result);
  }
}

}  // namespace weft::inline v0
