// Where in the user's program something happened.
#pragma once

namespace weft::inline v0 {

/// A source line, captured by a default argument: `void f(Location at = Location::here());`.
/// Trivially copyable; the strings are literals of the program and live as long as it does.
struct Location {
  const char* file = "";
  int line = 0;
  const char* function = "";

  constexpr Location() = default;  // no aggregate: {0, 3} is a Shape, never a Location
  static constexpr Location here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                 const char* function = __builtin_FUNCTION()) {
    Location at;
    at.file = file;
    at.line = line;
    at.function = function;
    return at;
  }
};

}  // namespace weft::inline v0
