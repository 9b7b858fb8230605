// What a Tensor and a Shape refuse before the program runs.
#include <weft/tensor.h>

using namespace weft;

void refused() {
  [[maybe_unused]] Tensor t(1.f);

// EXPECT(assign): a Tensor is a value; hold state in a Variable
#ifdef CASE_assign
  t.assign(2.f);
#endif

// EXPECT(assign_list): a Tensor is a value; hold state in a Variable
#ifdef CASE_assign_list
  t.assign({1.f, 2.f});
#endif

// EXPECT(assign_tensor): a Tensor is a value; hold state in a Variable
#ifdef CASE_assign_tensor
  t.assign(t);
#endif

// EXPECT(assign_a_part): a Tensor is a value; hold state in a Variable and write v[i].assign(y)
#ifdef CASE_assign_a_part
  t[0] = 2.f;
#endif

// EXPECT(assign_a_slice): a Tensor is a value; hold state in a Variable and write v[i].assign(y)
#ifdef CASE_assign_a_slice
  t(0, 1) = t;
#endif

// EXPECT(text): const char
#ifdef CASE_text
  Tensor x = "abc";
#endif

// EXPECT(null): nullptr_t
#ifdef CASE_null
  Tensor x = nullptr;
#endif

// EXPECT(shape_of_reals): no matching
// EXPECT(shape_of_reals): no known conversion
#ifdef CASE_shape_of_reals
  Shape s{2.5};
#endif

// EXPECT(shape_of_bools): no matching
// EXPECT(shape_of_bools): no known conversion
#ifdef CASE_shape_of_bools
  Shape s{true};
#endif
}
