// Variable: a named slot that holds one Tensor and may be given another.
//
//   Variable total{1.f, {.name = "total"}};
//   Tensor before = total;                 // a value: it stays 1
//   total.assign_add(2.f);                 // total is 3
//   Variable same = total;                 // a second handle to the same slot
//   print("{}", total);                    // Variable "total" f32[] = 3
//
// A Variable is a handle: copies share the slot, clone() makes a slot of its own. `v = tensor` and `a = b` do not compile.
//
// Thread safety: any number of threads may read and change one Variable through their own handles (or a const one) at any time. Each
// change takes effect at one moment, as if all of them came one after the other; a value once read never changes. Changes of several
// Variables at one moment: <weft/transaction.h>. Like a shared_ptr, one handle object may not be rebound while another thread uses it.
// Ownership: the slot lives as long as a handle to it does.
// Cost: reading some 10 ns. Changing a scalar some 50 ns. A change writes a new value, or, if nobody holds the old one, in its place.
#pragma once

#include <functional>
#include <optional>

#include <weft/operators.h>

namespace weft::inline v0 {

struct Slot;
class Variable;

struct VariableOptions {
  std::string name = {};            ///< messages say the creating line if it is empty; need not be unique
  bool trainable = true;            ///< whether tapes follow it and optimizers change it
  std::optional<DType> dtype = {};  ///< of a number or list given as the initial value; of a Tensor it must be its own
  std::optional<Shape> shape = {};  ///< declared: sizes that are kUnknown may change with an assignment. Default: the initial value's
  std::function<Tensor(const Tensor&)> constraint = {};  ///< applied by optimizers to what they have computed
  bool local = false;  ///< in the body of a Function: each call makes it anew, from what may be computed there, and it is gone with the call
};

/// One write that a Variable remembers.
struct WEFT_API WriteRecord {
  std::uint64_t version = 0;   ///< of the value it made; 0 is the initial value
  std::int64_t step = -1;      ///< of training, if whoever wrote knew one
  const char* by = "";         ///< "assign", "assign_add", "Adam", ...
  Location at{};
  std::string str() const;     ///< "version 3 by assign_add at train.cc:12"
};

/// A braced list of numbers as the initial value of a Variable.
struct ListValue {
  ListValue(std::initializer_list<Nested> values) : list(values) {}
  std::initializer_list<Nested> list;
};

/// What `v(0, all)` is: a value, read when the expression was written, and a place to write to. Meant to be used at once.
class WEFT_API VariableSlice {
 public:
  static constexpr bool reads_as_tensor = true;
  Tensor value(Location at = Location::here()) const;
  operator Tensor() const { return value(where_); }
  Variable& assign(Tensor x, Location at = Location::here()) &&;      ///< x has the slice's shape, or is a number. Else as Variable::assign
  Variable& assign_add(Tensor x, Location at = Location::here()) &&;
  Variable& assign_sub(Tensor x, Location at = Location::here()) &&;
  Variable& assign(std::initializer_list<Nested> x, Location at = Location::here()) &&;
  Variable& assign_add(std::initializer_list<Nested> x, Location at = Location::here()) &&;
  Variable& assign_sub(std::initializer_list<Nested> x, Location at = Location::here()) &&;
  std::string str() const { return value().str(); }

  VariableSlice(VariableSlice&&) = default;
  VariableSlice& operator=(VariableSlice&&) = delete;  // to change a part of a Variable write v[i].assign(x)
  template <class T, class to_change_a_part_of_a_Variable_write_v_i_assign_x = void>
  void operator=(T&&) = delete;                        // to change a part of a Variable write v[i].assign(x)
  template <class T, class to_change_a_part_of_a_Variable_write_v_i_assign_add_x = void>
  void operator+=(T&&) = delete;                       // to change a part of a Variable write v[i].assign_add(x)
  template <class T, class to_change_a_part_of_a_Variable_write_v_i_assign_sub_x = void>
  void operator-=(T&&) = delete;                       // to change a part of a Variable write v[i].assign_sub(x)

 private:
  friend class Variable;
  VariableSlice(Variable& of, std::span<const Index> at, Location where);
  Variable& change(const char* by, Tensor x, Location at, Tensor (*op)(Tensor, Tensor, Location));
  Variable* of_;
  Tensor whole_;  // as it was when the expression was written
  SmallVector<Index, 4> index_;
  Location where_;
};

class WEFT_API Variable {
 public:
  static constexpr bool reads_as_tensor = true;

  Variable() = delete;  // a Variable has a value from the beginning, as in Variable v{0.f}; std::optional holds one that comes later
  /// Variable{3} is a scalar, Variable{{1.f, 2.f}} a vector, Variable{tensor} takes the tensor's Spec. Throws DtypeError, ShapeError for
  /// an initial value that does not fit the options.
  template <Scalar A>
  explicit Variable(A initial, VariableOptions options = {}, Location at = Location::here())
      : Variable(from_tensor, Tensor(initial, at), std::move(options), at) {}
  template <class T>
    requires(std::convertible_to<T, Tensor> && !Scalar<std::remove_cvref_t<T>> && !std::derived_from<std::remove_cvref_t<T>, Variable>)
  explicit Variable(T&& initial, VariableOptions options = {}, Location at = Location::here())
      : Variable(from_tensor, static_cast<Tensor>(std::forward<T>(initial)), std::move(options), at) {}
  explicit Variable(ListValue initial, VariableOptions options = {}, Location at = Location::here());

  Variable(const Variable&) = default;             ///< shares the slot
  Variable(Variable&&) noexcept = default;
  Variable& operator=(Variable&&) noexcept = default;  ///< rebinds this handle
  Variable& operator=(const Variable&) = delete;   // to copy the value write a.assign(b); for a Variable of its own b.clone()
  template <class T, class to_change_the_value_of_a_Variable_write_v_assign_x = void>
    requires(!std::same_as<std::remove_cvref_t<T>, Variable>)
  Variable& operator=(T&&) = delete;               // to change the value of a Variable write v.assign(x)
  Variable& operator=(std::initializer_list<Nested>) = delete;  // to change the value of a Variable write v.assign(x)
  template <class T, class to_change_the_value_of_a_Variable_write_v_assign_add_x = void>
  void operator+=(T&&) = delete;                   // to change the value of a Variable write v.assign_add(x)
  template <class T, class to_change_the_value_of_a_Variable_write_v_assign_sub_x = void>
  void operator-=(T&&) = delete;                   // to change the value of a Variable write v.assign_sub(x)
  template <class T, class to_change_the_value_of_a_Variable_write_v_assign_v_times_x = void>
  void operator*=(T&&) = delete;                   // to change the value of a Variable write v.assign(v * x)
  template <class T, class to_change_the_value_of_a_Variable_write_v_assign_v_by_x = void>
  void operator/=(T&&) = delete;                   // to change the value of a Variable write v.assign(v / x)
  ~Variable() = default;

  /// What this thread sees: in a transaction its own last write or the snapshot, otherwise the published value.
  Tensor value(Location at = Location::here()) const;
  operator Tensor() const { return value(Location{}); }
  /// The published value, whatever transaction is open: for polling. TraceError while a Function is traced, which would freeze it.
  Tensor read_latest(Location at = Location::here()) const;

  /// A new value of this Variable's dtype and declared shape (DtypeError, ShapeError); numbers and lists are cast to the dtype. Nothing is
  /// broadcast. Waits for a running call that writes this Variable. In a transaction it is published with the rest.
  Variable& assign(Tensor x, Location at = Location::here());
  Variable& assign_add(Tensor x, Location at = Location::here());
  Variable& assign_sub(Tensor x, Location at = Location::here());
  Variable& assign(std::initializer_list<Nested> x, Location at = Location::here());
  Variable& assign_add(std::initializer_list<Nested> x, Location at = Location::here());
  Variable& assign_sub(std::initializer_list<Nested> x, Location at = Location::here());

  /// v(0, all).assign(t) writes through; on a const Variable it is the value only.
  VariableSlice operator[](Index at) { return {*this, {&at, 1}, at.where}; }
  Tensor operator[](Index at) const { return value(at.where).index({&at, 1}, at.where); }
  template <std::convertible_to<Index>... I>
  VariableSlice operator()(Index first, I... rest) {
    const Index list[] = {first, Index(rest, first.where)...};
    return {*this, list, first.where};
  }
  template <std::convertible_to<Index>... I>
  Tensor operator()(Index first, I... rest) const {
    const Index list[] = {first, Index(rest, first.where)...};
    return value(first.where).index(list, first.where);
  }

  /// Rows: v[indices[k]] op= updates[k], for k in order, so rows named twice are changed twice. updates has the shape of indices followed
  /// by that of a row, or is a number. Throws IndexError, ShapeError, DtypeError.
  Variable& scatter_update(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_add(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_sub(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_mul(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_div(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_min(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_max(Tensor indices, Tensor updates, Location at = Location::here());
  /// The same at the slices that the tuples along the last axis of indices name.
  Variable& scatter_nd_update(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_nd_add(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_nd_sub(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_nd_min(Tensor indices, Tensor updates, Location at = Location::here());
  Variable& scatter_nd_max(Tensor indices, Tensor updates, Location at = Location::here());
  Tensor sparse_read(Tensor indices, Location at = Location::here()) const;  ///< gather(v, indices)
  Tensor gather_nd(Tensor indices, Location at = Location::here()) const;
  /// Adds 1 to an integer scalar and returns what it was; at `limit` it stops: StateError, and the value stays.
  Tensor count_up_to(std::int64_t limit, Location at = Location::here());

  const std::string& name() const;
  bool trainable() const;
  const Spec& spec() const;  ///< as declared: a size may be unknown. Valid as long as the slot
  DType dtype() const { return spec().dtype; }
  Shape shape() const;  ///< of the value
  std::uint64_t version() const;  ///< how many writes have been published
  std::uint64_t id() const;       ///< of the slot; no two slots of a process share one
  const std::function<Tensor(const Tensor&)>& constraint() const;
  Location made_at() const;
  /// The last writes that were published, at most eight, the newest last.
  std::vector<WriteRecord> history() const;
  Variable clone(Location at = Location::here()) const;  ///< a slot of its own with the same value, name and options
  bool same_slot(const Variable& other) const;
  std::string str() const;  ///< name, dtype, shape and value

  template <std::same_as<std::shared_ptr<Slot>> S>  // exactly: {0, 1} is a list of numbers, no pointer and its deleter
  explicit Variable(S slot) : slot_(std::move(slot)) {}  ///< for Weft's own layers: another handle
  const std::shared_ptr<Slot>& slot() const;  ///< for Weft's own layers. Throws StateError after a move from this handle

 private:
  const Slot& asked() const;
  struct FromTensor {};
  static constexpr FromTensor from_tensor{};
  Variable(FromTensor, Tensor initial, VariableOptions options, Location at);
  Variable& change(const char* by, Tensor x, Location at, Tensor (*op)(Tensor, Tensor, Location));
  Variable& scatter(const char* by, Tensor indices, Tensor updates, Location at, bool rows, Tensor (*op)(Tensor, Tensor, Tensor, Location));

  std::shared_ptr<Slot> slot_;
};

WEFT_API std::ostream& operator<<(std::ostream& out, const Variable& v);

}  // namespace weft::inline v0
