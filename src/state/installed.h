// Interpreters of a scope.
#pragma once

#include "core/apply.h"

namespace weft::inline v0 {

/// Installed for a scope, unless it is removed before.
template <class I>
struct Installed {
  template <class... A>
  explicit Installed(A&&... args) : interpreter(std::forward<A>(args)...) { interpreter.install(); }
  ~Installed() {
    if (interpreter.installed()) interpreter.remove();
  }
  Installed(const Installed&) = delete;
  Installed& operator=(const Installed&) = delete;
  I interpreter;
};

}  // namespace weft::inline v0
