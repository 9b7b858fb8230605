// Bad and odd calls of every op, generated from its row: the classes of mistakes behind the published advisories of
// tensor libraries. Nobody writes a case for an op by hand, so nobody can forget one.
#pragma once

#include <string>
#include <vector>

#include "core/op.h"

namespace weft::bad_input {

/// A class of mistakes. `applies` decides from the row's declaration alone.
struct Class {
  char letter;
  const char* what;
  bool (*applies)(const Op& op);
};
const std::vector<Class>& classes();

/// One call to be tried. It may well be valid: the outcome has to be a result or a typed error, never anything else.
struct Case {
  char letter = ' ';
  std::string what{};
  Tensors inputs{};
  std::vector<Attr> attrs{};
  bool twice = false;  // run again over dirtied memory and compare bits
};

/// The calls of one class; the same ones in the same order on every machine.
std::vector<Case> cases(const Op& op, char letter);

}  // namespace weft::bad_input
