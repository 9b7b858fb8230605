// Types that are no trees, and what the compiler says about them: which type it is, and what to do.
#include <weft/tree.h>

#include <functional>
#include <set>
#include <thread>

using namespace weft;

class Hidden {
 public:
  Hidden() {}

 private:
  Variable weight_{1.f};
};
struct HoldsHidden { Variable first{1.f}; Hidden hidden; };
struct HoldsFunction { Variable weight{1.f}; std::function<void()> activation; };
struct Wide65 {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1;
  int e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, g3, g4, g5, g6, g7, g8, g9, h0, h1, h2;
};
struct Base { Variable weight{1.f}; };
struct WithBase : Base { Variable bias{1.f}; };
struct Listed { Variable weight{1.f}; WEFT_FIELDS(weight) };
struct InheritsList : Listed { Variable bias{1.f}; };
struct Reference { Variable& weight; };
struct Array { Variable weights[2] = {Variable{1.f}, Variable{2.f}}; };
struct Bits { Variable weight{1.f}; int flag : 1; };
struct HoldsKeys { std::map<double, Variable> by_rate; };
struct HoldsText { Variable weight{1.f}; const char* name = ""; };
struct HoldsSet { std::set<int> numbers; };

// EXPECT(forgotten): WEFT_FIELDS must name all members of this class
// EXPECT(forgotten): Forgetful
struct Forgetful {
  Variable weight{1.f};
  Tensor mean;
  Variable bias{1.f};
#ifdef CASE_forgotten
  WEFT_FIELDS(weight, bias)
#else
  WEFT_FIELDS(weight, untracked(mean), bias)
#endif
};

void refused() {
// EXPECT(foreign): this type is no tree
// EXPECT(foreign): std::thread
#ifdef CASE_foreign
  variables(std::thread());
#endif

// EXPECT(private_member): lists its fields with WEFT_FIELDS(a, b)
// EXPECT(private_member, g++): [with T = Hidden]
// EXPECT(private_member, clang++): Walk<Hidden>::run
#ifdef CASE_private_member
  variables(HoldsHidden());
#endif

// EXPECT(function): WEFT_FIELDS(a, b, untracked(member))
// EXPECT(function): std::function<void
// EXPECT(function): HoldsFunction
#ifdef CASE_function
  variables(HoldsFunction());
#endif

// EXPECT(wide): this struct has more than 64 fields; list them with WEFT_FIELDS(a, b), which has no limit
// EXPECT(wide): Wide65
#ifdef CASE_wide
  variables(Wide65());
#endif

// EXPECT(base): this struct has a base class; list the fields of both with WEFT_FIELDS(a, b)
// EXPECT(base): WithBase
#ifdef CASE_base
  variables(WithBase());
#endif

// EXPECT(inherited_list): inherits the WEFT_FIELDS of a base
// EXPECT(inherited_list): InheritsList
#ifdef CASE_inherited_list
  variables(InheritsList());
#endif

// EXPECT(reference): the fields of this struct cannot be counted, perhaps because one is a reference
// EXPECT(reference): Reference
#ifdef CASE_reference
  Variable v{1.f};
  variables(Reference{v});
#endif

// EXPECT(c_array): a_walked_struct_has_no_C_array_no_bit_field_no_anonymous_union_else_list_its_fields_with_WEFT_FIELDS
// EXPECT(c_array): Array
#ifdef CASE_c_array
  variables(Array());
#endif

// EXPECT(bit_field): a_walked_struct_has_no_C_array_no_bit_field_no_anonymous_union_else_list_its_fields_with_WEFT_FIELDS
// EXPECT(bit_field): Bits
#ifdef CASE_bit_field
  variables(Bits());
#endif

// EXPECT(keys): the keys of a map in a tree become parts of paths: make them std::string, integers or an enumeration
// EXPECT(keys): std::map<double
#ifdef CASE_keys
  variables(HoldsKeys());
#endif

// EXPECT(unordered_keys): the keys of a map in a tree become parts of paths
#ifdef CASE_unordered_keys
  variables(std::unordered_map<void*, int>());
#endif

// EXPECT(c_text): this pointer leads to no tree; use std::string for text
// EXPECT(c_text): HoldsText
#ifdef CASE_c_text
  variables(HoldsText());
#endif

// EXPECT(function_pointer): this pointer leads to no tree
#ifdef CASE_function_pointer
  variables(&refused);
#endif

// EXPECT(array_pointer): this pointer leads to no tree
#ifdef CASE_array_pointer
  variables(std::make_unique<int[]>(3));
#endif

// EXPECT(bools): the elements of a std::vector<bool> have no address; use std::vector<std::uint8_t>
#ifdef CASE_bools
  variables(std::vector<bool>());
#endif

// EXPECT(set): this type is no tree
// EXPECT(set): std::set<int
#ifdef CASE_set
  variables(HoldsSet());
#endif

// EXPECT(number_as_variable): constraint
#ifdef CASE_number_as_variable
  Snapshot()[0];
#endif

  variables(Forgetful());
}
