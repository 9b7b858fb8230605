// What a Variable refuses before the program runs.
#include <weft/variable.h>

using namespace weft;

void refused() {
  [[maybe_unused]] Variable a{1.f}, b{2.f};
  [[maybe_unused]] Tensor t(1.f);
  Variable shared = a;
  a = Variable{3.f};

// EXPECT(assign_tensor): to change the value of a Variable write v.assign(x)
#ifdef CASE_assign_tensor
  a = t;
#endif

// EXPECT(assign_number): to change the value of a Variable write v.assign(x)
#ifdef CASE_assign_number
  a = 2.f;
#endif

// EXPECT(assign_list): to change the value of a Variable write v.assign(x)
#ifdef CASE_assign_list
  a = {1.f, 2.f};
#endif

// EXPECT(assign_variable): to copy the value write a.assign(b); for a Variable of its own b.clone()
#ifdef CASE_assign_variable
  a = b;
#endif

// EXPECT(add_to): to change the value of a Variable write v.assign_add(x)
#ifdef CASE_add_to
  a += 1.f;
#endif

// EXPECT(subtract_from): to change the value of a Variable write v.assign_sub(x)
#ifdef CASE_subtract_from
  a -= t;
#endif

// EXPECT(multiply_by): to change the value of a Variable write v.assign(v * x)
#ifdef CASE_multiply_by
  a *= 2;
#endif

// EXPECT(assign_a_part): to change a part of a Variable write v[i].assign(x)
#ifdef CASE_assign_a_part
  a[0] = 1.f;
#endif

// EXPECT(assign_a_part_of_another): to change a part of a Variable write v[i].assign(x)
#ifdef CASE_assign_a_part_of_another
  a[0] = b[0];
#endif

// EXPECT(add_to_a_part): to change a part of a Variable write v[i].assign_add(x)
#ifdef CASE_add_to_a_part
  a(0, 1) += t;
#endif

// EXPECT(without_a_value): a Variable has a value from the beginning, as in Variable v{0.f}
#ifdef CASE_without_a_value
  struct { Variable inside; } net;
#endif

// EXPECT(implicit): conversion
#ifdef CASE_implicit
  Variable c = t;
#endif

// EXPECT(const_assign): const
#ifdef CASE_const_assign
  const Variable c = a;
  c.assign(t);
#endif
}

static_assert(!std::is_assignable_v<Variable&, Tensor> && !std::is_assignable_v<Variable&, float> && !std::is_copy_assignable_v<Variable>);
static_assert(std::is_copy_constructible_v<Variable> && std::is_nothrow_move_constructible_v<Variable> && std::is_nothrow_move_assignable_v<Variable>);
