// Evaluates TensorFlow expressions with the op table: the rows' `.tf` fields say which row a function is and where its
// arguments go.
//
// A `.tf` field is "tf.a.b(x, axis, kw=name) | tf.c(...)": Weft's input and attribute names in TensorFlow's positional order.
//   name       the keyword has the same name in both
//   kw=name    TensorFlow's keyword kw is Weft's name
//   kw=_       accepted and ignored (an option that changes nothing here)
//   *xs        the remaining positional arguments are the list input xs
// tf, tf.math, tf.linalg and tf.nn count as one namespace, because TensorFlow exports most functions under several of them.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/op.h"
#include "ops/table.h"
#include "tests/golden_expr.h"

namespace weft::golden {

/// What an expression means: a Python value, a dtype or tensors.
struct Value;
using Values = std::vector<Value>;
struct Value : std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, Tensor, Values, NewAxis> {
  using variant::variant;
  template <class T>
  const T* as() const {
    return std::get_if<T>(static_cast<const variant*>(this));
  }
};

/// No row answers to a function, or none can take the arguments given.
struct Unbound : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Variables = std::map<std::string, Tensor>;

/// Throws Unbound, or what the ops throw. Every op goes through apply, so that tapes see it.
Value evaluate(const Expr& expr, const Variables& variables);
/// The tensors of a value in order.
std::vector<Tensor> tensors_of(const Value& value);

/// One spelling of one row.
struct Spelling {
  struct Parameter {
    std::string keyword, name;  // TensorFlow's and Weft's
    bool rest = false;          // *xs
  };
  std::string function;
  std::vector<Parameter> parameters;
  const Family* family = nullptr;
  const Op* op = nullptr;
};
const std::vector<Spelling>& spellings();
/// The rows that name the function, in the table's order.
std::vector<Spelling> rows_for(std::string_view function);
/// "tf.math.exp" and "tf.exp" are both "exp".
std::string canonical(std::string_view function);

}  // namespace weft::golden
