// Parts of a Variable: slices, rows and elements that are read and written by their place.
#include "core/apply.h"
#include "ops/indexing.h"
#include "state/transaction.h"
#include <weft/ops.h>
#include <weft/update.h>

namespace weft::inline v0 {
namespace {

template <class E>
[[noreturn]] void rename(const E& error, const Slot& slot, const char* by, Location at) {
  const std::string text = error.message();
  const std::size_t named = error.op().empty() ? 0 : error.op().size() + 2;
  throw E(by, "for " + slot.title() + " " + slot.declared.str() + ", " + text.substr(named), at);
}

// What the ops refuse, this change of this Variable refuses, and whoever publishes it.
template <class F>
auto in_name_of(const Slot& slot, const char* by, Location at, const F& f) {
  try {
    return f();
  } catch (const ShapeError& error) {
    rename(error, slot, by, at);
  } catch (const DtypeError& error) {
    rename(error, slot, by, at);
  } catch (const IndexError& error) {
    rename(error, slot, by, at);
  } catch (const ValueError& error) {
    rename(error, slot, by, at);
  } catch (const OutOfMemoryError& error) {
    if (error.op() == by) throw;  // it names the Variable
    rename(error, slot, by, at);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(by, "there is no memory for the new value of " + slot.title() + "; it has not changed.", at);
  }
}

// A number becomes the Variable's dtype beside it. By reference, since a second handle makes a number a value.
Tensor of_dtype(const Tensor& x, DType dtype) {
  if (!x.defined() || !is_literal(x) || x.dtype() == dtype) return x;
  const Literal number = x.node()->number();
  if (!literal_fits(number, dtype)) throw DtypeError("", "the number given does not fit " + std::string(name_of(dtype)) + "; cast it.", {});
  return make_scalar(number, dtype, x.node()->made_at());
}

Tensor repeated(Tensor x, const Shape& shape, Location at) {
  return x.defined() && x.rank() == 0 && shape.rank() > 0 ? broadcast_to(std::move(x), shape, at) : x;
}

// --- slices ---

Tensor with_slice(Tensor whole, Tensor x, std::span<const Index> index, Location at) {
  const IndexLists lists = index_lists(index);
  const StridedSliceOptions& o = lists.options;
  return strided_slice_update(std::move(whole), std::move(x), lists.begin, lists.end,
                              {.strides = o.strides, .begin_mask = o.begin_mask, .end_mask = o.end_mask, .ellipsis_mask = o.ellipsis_mask,
                               .new_axis_mask = o.new_axis_mask, .shrink_axis_mask = o.shrink_axis_mask}, at);
}

// Infers calls, and makes no values.
class Inferring final : public Interpreter {
 public:
  void apply(Call call, Tensors& outputs) override {
    for (Spec& spec : check(call)) outputs.push_back(make_symbolic(std::move(spec), call.at));
  }
};

Spec spec_of_slice(const Tensor& whole, std::span<const Index> index, Location at) {
  Inferring inferring;
  const Interpreter::Scope scope(&inferring);
  return whole.index(index, at).spec();
}

// Writes what f makes of the value. Alone, and unless somebody holds the value, places of it change where they lie.
template <class F>
void change_places(Variable& variable, const char* by, Location at, const F& f) {
  in_name_of(*variable.slot(), by, at, [&] {
    if (Interpreter::top() != nullptr) return update(variable.slot(), f, at, by);
    update_together({&variable, 1}, [&](std::span<Tensor> values) { values[0] = f(std::move(values[0])); }, {.by = by, .in_place = true}, at);
  });
}

// --- rows ---

Shape updates_shape(const Shape& indices, const Shape& whole, int skipped) {
  Shape result = indices;
  for (int axis = skipped; axis < whole.rank(); ++axis) result.append(whole.dim(axis));
  return result;
}

// Products are commutative: the rows of one place are multiplied first. Places that are not named have the product 1.
Tensor products(const Tensor& whole, const Tensor& indices, Tensor updates, Location at) {
  gather(whole, indices, {}, at);  // refuses what is out of range, which segments would drop
  if (updates.shape() != updates_shape(indices.shape(), whole.shape(), 1))
    throw ShapeError("", "updates is " + updates.spec().str() + " and must be " + updates_shape(indices.shape(), whole.shape(), 1).str() +
        ", a row for each index.", at);
  return unsorted_segment_prod(std::move(updates), indices, whole.shape()[{0, at}], at);
}
Tensor multiply_rows(Tensor whole, Tensor indices, Tensor updates, Location at) {
  Tensor by = products(whole, indices, std::move(updates), at);
  return multiply(std::move(whole), std::move(by), at);
}
Tensor divide_rows(Tensor whole, Tensor indices, Tensor updates, Location at) {
  Tensor by = products(whole, indices, std::move(updates), at);
  return is_floating(whole.dtype()) ? divide(std::move(whole), std::move(by), at) : truncatediv(std::move(whole), std::move(by), at);
}
template <Tensor (*op)(Tensor, Tensor, Tensor, Location)>
Tensor by_rows(Tensor whole, Tensor indices, Tensor updates, Location at) {
  return op(std::move(whole), expand_dims(std::move(indices), -1, at), std::move(updates), at);
}

}  // namespace

// --- slices ---

VariableSlice::VariableSlice(Variable& of, std::span<const Index> at, Location where)
    : of_(&of), whole_(of.value(where)), index_(at.begin(), at.end()), where_(where) {}

Tensor VariableSlice::value(Location at) const { return whole_.index(index_, at.line != 0 ? at : where_); }

Variable& VariableSlice::change(const char* by, Tensor x, Location at, Tensor (*op)(Tensor, Tensor, Location)) {
  whole_ = Tensor();  // a handle less, so that the memory may be used again
  change_places(*of_, by, at, [&](Tensor whole) {
    const Tensor old = op != nullptr ? whole.index(index_, at) : Tensor();
    const Spec slice = op != nullptr ? old.spec() : spec_of_slice(whole, index_, at);
    Tensor fresh = repeated(of_dtype(x, slice.dtype), slice.shape, at);
    if (!fresh.defined()) throw ValueError("", "the value is an empty Tensor handle; assign a value to it first.", at);
    if (fresh.spec() != slice) {
      const std::string sentence = "the slice is " + slice.str() + " and the value " + fresh.spec().str() +
          "; they must agree, nothing but a number is repeated.";
      if (fresh.dtype() != slice.dtype) throw DtypeError("", sentence, at);
      throw ShapeError("", sentence, at);
    }
    if (op != nullptr) fresh = op(old, std::move(fresh), at);
    return with_slice(std::move(whole), std::move(fresh), index_, at);
  });
  return *of_;
}

Variable& VariableSlice::assign(Tensor x, Location at) && { return change("assign", std::move(x), at, nullptr); }
Variable& VariableSlice::assign_add(Tensor x, Location at) && { return change("assign_add", std::move(x), at, add); }
Variable& VariableSlice::assign_sub(Tensor x, Location at) && { return change("assign_sub", std::move(x), at, subtract); }
Variable& VariableSlice::assign(std::initializer_list<Nested> x, Location at) && {
  return change("assign", Tensor(x, of_->dtype(), at), at, nullptr);
}
Variable& VariableSlice::assign_add(std::initializer_list<Nested> x, Location at) && {
  return change("assign_add", Tensor(x, of_->dtype(), at), at, add);
}
Variable& VariableSlice::assign_sub(std::initializer_list<Nested> x, Location at) && {
  return change("assign_sub", Tensor(x, of_->dtype(), at), at, subtract);
}

// --- scatters ---

Variable& Variable::scatter(const char* by, Tensor indices, Tensor updates, Location at, bool rows,
                            Tensor (*op)(Tensor, Tensor, Tensor, Location)) {
  change_places(*this, by, at, [&](Tensor whole) {
    if (!indices.defined() || !updates.defined())
      throw ValueError("", "indices or updates is an empty Tensor handle; assign a value to it first.", at);
    if (whole.rank() == 0) throw ShapeError("", "there are no rows in a scalar; assign to it.", at);
    Tensor fresh = of_dtype(updates, whole.dtype());
    if (fresh.rank() == 0 && rows) fresh = repeated(std::move(fresh), updates_shape(indices.shape(), whole.shape(), 1), at);
    if (fresh.rank() == 0 && !rows && indices.rank() > 0) {  // tuples
      const std::int64_t depth = std::min<std::int64_t>(indices.shape()[{indices.rank() - 1, at}], whole.rank());
      const Shape outer(indices.shape().sizes().first(static_cast<std::size_t>(indices.rank() - 1)));
      fresh = repeated(std::move(fresh), updates_shape(outer, whole.shape(), static_cast<int>(depth)), at);
    }
    return op(std::move(whole), indices, std::move(fresh), at);
  });
  return *this;
}

#define WEFT_SCATTER(name, rows, op) \
  Variable& Variable::name(Tensor indices, Tensor updates, Location at) { \
    return scatter(#name, std::move(indices), std::move(updates), at, rows, op); \
  }
WEFT_SCATTER(scatter_update, true, by_rows<tensor_scatter_nd_update>)
WEFT_SCATTER(scatter_add, true, by_rows<tensor_scatter_nd_add>)
WEFT_SCATTER(scatter_sub, true, by_rows<tensor_scatter_nd_sub>)
WEFT_SCATTER(scatter_mul, true, multiply_rows)
WEFT_SCATTER(scatter_div, true, divide_rows)
WEFT_SCATTER(scatter_min, true, by_rows<tensor_scatter_nd_min>)
WEFT_SCATTER(scatter_max, true, by_rows<tensor_scatter_nd_max>)
WEFT_SCATTER(scatter_nd_update, false, tensor_scatter_nd_update)
WEFT_SCATTER(scatter_nd_add, false, tensor_scatter_nd_add)
WEFT_SCATTER(scatter_nd_sub, false, tensor_scatter_nd_sub)
WEFT_SCATTER(scatter_nd_min, false, tensor_scatter_nd_min)
WEFT_SCATTER(scatter_nd_max, false, tensor_scatter_nd_max)
#undef WEFT_SCATTER

Tensor Variable::sparse_read(Tensor indices, Location at) const {
  const Tensor whole = value(at);
  return in_name_of(*slot_, "sparse_read", at, [&] { return gather(whole, std::move(indices), {}, at); });
}

Tensor Variable::gather_nd(Tensor indices, Location at) const {
  const Tensor whole = value(at);
  return in_name_of(*slot_, "gather_nd", at, [&] { return v0::gather_nd(whole, std::move(indices), {}, at); });
}

}  // namespace weft::inline v0
