// What is no Function, no signature and no call of one.
#include <weft/weft.h>

#include <thread>

using namespace weft;

struct Doubler { Tensor twice(Tensor x) const { return x * 2; } };
struct Power { Tensor operator()(Tensor x, int n) const { return pow(x, static_cast<float>(n)); } };

void refused() {
  Function f = [](Tensor x) { return x; };

// EXPECT(number): a Function is made from what can be called with one list of types
#ifdef CASE_number
  Function g = 3;
#endif

// EXPECT(tensor): a Function is made from what can be called
#ifdef CASE_tensor
  Function g = f(1.f);
#endif

// EXPECT(generic): a lambda without auto
#ifdef CASE_generic
  Function g = [](auto x) { return x; };
#endif

// EXPECT(member): For anything else name the types, as in Function<Tensor(Tensor)>
#ifdef CASE_member
  Function g = &Doubler::twice;
#endif

// EXPECT(no_default): Power
#ifdef CASE_no_default
  Function<Tensor(Tensor)> g = Power();
#endif

// EXPECT(moved): a Function takes its arguments by value or by reference, not by &&.
#ifdef CASE_moved
  Function g = [](Tensor&& x) { return x; };
#endif

// EXPECT(pointer): a Function returns values: a Tensor, a Variable, or a struct or container of them.
#ifdef CASE_pointer
  Function g = [](Tensor& x) { return &x; };
#endif

// EXPECT(foreign_result): this type is no tree
// EXPECT(foreign_result): std::thread::id
#ifdef CASE_foreign_result
  Function g = [](Tensor) { return std::thread::id(); };
  g(1.f);
#endif

// EXPECT(foreign_argument): this type is no tree
// EXPECT(foreign_argument): std::thread::id
#ifdef CASE_foreign_argument
  Function g = [](Tensor x, std::thread::id) { return x; };
  g(1.f, std::thread::id());
#endif

// EXPECT(signature_of_variables): std::vector<
#ifdef CASE_signature_of_variables
  Variable v{1.f};
  FunctionOptions options{.signature = {v}};
#endif

// EXPECT(signature_of_numbers): std::vector<
#ifdef CASE_signature_of_numbers
  FunctionOptions options{.signature = {1.f, 2.f, 3.f}};
#endif

// EXPECT(too_many, g++): no match for call
// EXPECT(too_many, clang++): no matching function for call
#ifdef CASE_too_many
  f(1.f, 2.f);
#endif

// EXPECT(too_few, g++): no match for call
// EXPECT(too_few, clang++): no matching function for call
#ifdef CASE_too_few
  f();
#endif
}
