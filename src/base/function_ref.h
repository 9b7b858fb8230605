// A callable that is borrowed.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace weft::inline v0 {

/// Borrows something callable for the duration of a call.
template <class>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, A... args) -> R { return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(args)...); }) {}
  R operator()(A... args) const { return call_(object_, std::forward<A>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace weft::inline v0
