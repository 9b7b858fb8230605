// The walk over a tree: what a struct, a container or a leaf shows to a TreeWalker.
//
//   struct Net { Dense hidden, out; float rate = 0.1f; };                    // nothing to write: fields are found
//   class Dense { Variable weight, bias; std::function<Tensor(Tensor)> f;    // a class with constructors or private members
//     WEFT_FIELDS(weight, bias, untracked(f)) ... };                         // lists them
//
// Trees are
//   - leaves: Variable, Tensor, and host values: numbers, bool, enumerations, std::string, Shape;
//   - std::vector, std::array, std::map and std::unordered_map (keys: text, integers, enumerations), std::optional, std::tuple, std::pair,
//     std::unique_ptr, std::shared_ptr and T* of trees;
//   - structs of trees: aggregates without bases and with at most 64 fields, and any class that lists its fields.
// Anything else does not compile, and the message names the type and what to do.
//
// Order: fields as declared or listed, elements as stored, the keys of an unordered_map sorted. What is empty or null shows nothing.
// What pointers lead to is walked once, where it is met first, so cycles end.
//
// Thread safety: a walk reads the structure. Nobody may change it meanwhile (resize a vector, reset a pointer); Variables may be
// written at any time. Cost: some nanoseconds for each field and leaf; the code of a type is instantiated once, whoever walks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <weft/tensor.h>

namespace weft::inline v0 {

class Variable;
class TreeWalker;

/// Lists the members of a class that a walk shows, in the order of their declaration. Stands anywhere in the class. A member that is
/// no state is named in untracked(...): a forgotten one of eight bytes or more does not compile. untracked(*this) stops that check.
#define WEFT_FIELDS(...) WEFT_FIELDS_AS(, __VA_ARGS__)
/// The same for a base through whose pointers derived objects are walked. Each derived class has a list of its own (WEFT_FIELDS).
#define WEFT_VIRTUAL_FIELDS(...) WEFT_FIELDS_AS(virtual, __VA_ARGS__)

namespace detail {
enum class LeafForm : std::uint8_t { kNone, kVariable, kTensor, kSigned, kUnsigned, kBoolean, kFloating, kHalf, kBrain, kText, kShape };
struct LeafType {
  const std::type_info& type;
  LeafForm form;
  std::size_t size;  // of the bytes that make the value
};
struct Cursor;
using WalkFn = void (*)(Cursor, void*);
template <class T>
struct Untracked {};
}  // namespace detail

/// Marks a member in WEFT_FIELDS as no part of the tree.
template <class T>
constexpr detail::Untracked<T> untracked(const T&) {
  return {};
}

/// One step of a path: a field's name, an element's index, an entry's key.
struct WEFT_API PathStep {
  enum class Kind : std::uint8_t { kField, kIndex, kKey };
  Kind kind = Kind::kField;
  std::string_view name = {};  ///< of a field (a literal of the program) or, as text, of a key
  std::size_t index = 0;       ///< among the fields, elements or entries
  /// Appends it to a path: "layers" + 2 is "layers.2". A dot or backslash in a key gets a backslash before it, so paths are unique.
  void append_to(std::string& path) const;
};

/// A value at the end of a path. Borrows it: valid during the call that gets it.
class WEFT_API TreeLeaf {
 public:
  enum class Kind : std::uint8_t { kVariable, kTensor, kHost };
  Kind kind() const {
    using Form = detail::LeafForm;
    return type_->form == Form::kVariable ? Kind::kVariable : type_->form == Form::kTensor ? Kind::kTensor : Kind::kHost;
  }
  bool writable() const { return writable_; }  ///< neither the tree nor the field is const
  /// The value itself if it is exactly a T, else null. A T that is not const asks for writing: null unless writable().
  template <class T>
  T* as() const {
    return (writable_ || std::is_const_v<T>) && type() == typeid(T) ? static_cast<T*>(at_) : nullptr;
  }
  const std::type_info& type() const { return type_->type; }
  /// What makes a host value, without padding: its representation, the characters of text, the sizes of a Shape. Else empty.
  std::span<const std::byte> bytes() const;
  std::string str() const;  ///< a host value as text, else dtype and shape

  TreeLeaf(void* at, const detail::LeafType& type, bool writable) : at_(at), type_(&type), writable_(writable) {}

 private:
  void* at_;
  const detail::LeafType* type_;
  bool writable_;
};

/// Is shown a tree, part by part. Derive from it for what `visit` (<weft/tree.h>) cannot do. What a member throws ends the walk.
class WEFT_API TreeWalker {
 public:
  /// What leaves alone would not tell: how many elements a container has; whether an optional or pointer holds something; that a pointer
  /// leads to the n-th object that a pointer led to before, or to the n-th of the structs around it, counted from the outermost.
  enum class Holds : std::uint8_t { kElements, kNothing, kSomething, kShownBefore, kAround };

  TreeWalker();
  virtual ~TreeWalker();
  TreeWalker(const TreeWalker&) = delete;
  TreeWalker& operator=(const TreeWalker&) = delete;

  virtual void enter(const PathStep& step);  ///< what follows lies below this step, which lives until the `leave` that belongs to it
  virtual void leave();
  virtual void leaf(const TreeLeaf& leaf) = 0;
  virtual void holds(Holds what, std::size_t n);
  /// What follows, up to the leaf or struct after its last field, belongs to a struct. Structs of one class have one `type`, others have
  /// others; behind a pointer to a base it is the class of the object.
  virtual void structure(detail::WalkFn type);

 private:
  friend struct detail::Cursor;
  struct Met;
  std::unique_ptr<Met> met_;
};

// --- details ---

namespace detail {

template <class T>
consteval LeafForm leaf_form() {
  if constexpr (std::is_same_v<T, Variable>) return LeafForm::kVariable;
  else if constexpr (std::is_same_v<T, Tensor>) return LeafForm::kTensor;
  else if constexpr (std::is_enum_v<T>) return leaf_form<std::underlying_type_t<T>>();
  else if constexpr (std::is_same_v<T, bool>) return LeafForm::kBoolean;
  else if constexpr (std::is_floating_point_v<T>) return LeafForm::kFloating;
  else if constexpr (std::is_arithmetic_v<T>) return std::is_signed_v<T> ? LeafForm::kSigned : LeafForm::kUnsigned;
  else if constexpr (std::is_same_v<T, float16>) return LeafForm::kHalf;
  else if constexpr (std::is_same_v<T, bfloat16>) return LeafForm::kBrain;
  else if constexpr (std::is_same_v<T, std::string>) return LeafForm::kText;
  else if constexpr (std::is_same_v<T, Shape>) return LeafForm::kShape;
  else return LeafForm::kNone;
}
template <class T>
concept IsLeaf = leaf_form<T>() != LeafForm::kNone;
template <class T>  // the 80-bit long double of x86 has padding, which is no part of its value
inline constexpr LeafType kLeafType{typeid(T), leaf_form<T>(), std::is_same_v<T, long double> && __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(T)};

/// What a walk has to know of a member's type. One that is not walked has no function.
struct MemberType {
  WalkFn walk;
  bool is_const;
};

/// Where a walk stands. Loops and bookkeeping are here, out of the templates.
struct WEFT_API Cursor {
  TreeWalker& walker;
  bool writable;

  static void begin(TreeWalker& walker, void* tree, bool writable, WalkFn walk);
  template <class T>
  Cursor below() const { return {walker, writable && !std::is_const_v<T>}; }  // at a part that was declared as T
  void leaf(void* at, const LeafType& type) const { walker.leaf(TreeLeaf(at, type, writable)); }
  void members(void* object, WalkFn type, const std::string_view* names, const MemberType* types, void* const* at, std::size_t count) const;
  void elements(const void* first, std::size_t stride, std::size_t count, WalkFn walk) const;
  void size(std::size_t count) const { walker.holds(TreeWalker::Holds::kElements, count); }
  void entry(std::string_view key, std::size_t index, void* value, WalkFn walk) const;
  void entry(std::int64_t key, bool wide, std::size_t index, void* value, WalkFn walk) const;  // wide: the bits of an unsigned number
  void parts(const MemberType* types, void* const* at, std::size_t count) const;               // of a tuple
  void optional(const void* value, WalkFn walk) const;                                         // null: empty
  void pointee(const void* object, bool is_const, WalkFn walk) const;
};
/// Splits the text of a list of expressions at its commas; each name is the last identifier of its expression.
WEFT_API void names_from_list(std::string_view list, std::string_view* names, std::size_t count);
[[noreturn]] WEFT_API void fail_hidden_class(const std::type_info& real, const std::type_info& walked);

template <class T>
struct Walk;
template <class T>
void walk_erased(Cursor at, void* object) {
  Walk<T>::run(at, *static_cast<T*>(object));
}
template <class T>
void* address(T& object) {
  return const_cast<void*>(static_cast<const volatile void*>(std::addressof(object)));
}
template <class T>
inline constexpr WalkFn kWalk = &walk_erased<std::remove_cv_t<T>>;

template <class F>
struct member {
  using stored = F;
  static constexpr MemberType type{kWalk<F>, std::is_const_v<F>};
};
template <class F>
struct member<Untracked<F>> {
  using stored = F;
  static constexpr MemberType type{nullptr, false};
};

// Lays the members out one after the other: a class that is larger has others, too. (Those that fit into padding go unseen, and a type
// with a stricter alignment than the standard's says nothing.)
template <class T, class... F>
consteval bool fills() {
  std::size_t end = std::is_polymorphic_v<T> ? sizeof(void*) : 0;
  const auto up = [&](std::size_t alignment) { return (end + alignment - 1) / alignment * alignment; };
  ((end = up(alignof(F)) + sizeof(F)), ...);
  return alignof(T) > alignof(std::max_align_t) || sizeof(T) <= std::max<std::size_t>(up(alignof(T)), 1);
}

template <class T, class... F>
void walk_fields(Cursor at, T& object, std::string_view list, F&&... field) {
  static_assert(fills<T, typename member<std::remove_reference_t<F>>::stored...>(),
                "WEFT_FIELDS must name all members of this class in the order of their declaration; "
                "write untracked(member) for one that is no state.");
  if constexpr (std::is_polymorphic_v<T>) {
    if (typeid(object) != typeid(T)) fail_hidden_class(typeid(object), typeid(T));
  }
  static const auto names = [&] {
    std::array<std::string_view, sizeof...(F)> split;
    names_from_list(list, split.data(), split.size());
    return split;
  }();
  static constexpr std::array<MemberType, sizeof...(F)> types{member<std::remove_reference_t<F>>::type...};
  const std::array<void*, sizeof...(F)> members{detail::address(field)...};
  at.members(detail::address(object), kWalk<T>, names.data(), types.data(), members.data(), members.size());
}
}  // namespace detail

/// The only one who may see the list of a class.
struct FieldAccess {
  template <class T>
  static constexpr bool lists() {
    return requires { &T::weft_fields; };
  }
  template <class T>
  static constexpr bool lists_itself() {
    return std::is_same_v<decltype(declared_in(&T::weft_fields)), std::type_identity<T>>;
  }
  template <class T>
  static void walk(detail::Cursor at, T& object) {
    object.weft_fields(at);
  }

 private:
  template <class C>
  static std::type_identity<C> declared_in(void (C::*)(detail::Cursor));
};

// clang complains about a list that overrides where other members of the class say `override`.
#ifdef __clang__
#define WEFT_FIELDS_QUIET \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Winconsistent-missing-override\"") \
      _Pragma("clang diagnostic ignored \"-Wsuggest-override\"")
#define WEFT_FIELDS_LOUD _Pragma("clang diagnostic pop")
#else
#define WEFT_FIELDS_QUIET
#define WEFT_FIELDS_LOUD
#endif
#define WEFT_FIELDS_AS(how, ...)                                                                          \
  friend struct ::weft::FieldAccess;                                                                           \
  WEFT_FIELDS_QUIET how void weft_fields(::weft::detail::Cursor weft_cursor) {                            \
    using ::weft::untracked;                                                                              \
    ::weft::detail::walk_fields(weft_cursor, *this, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__);             \
  }                                                                                                       \
  WEFT_FIELDS_LOUD

}  // namespace weft::inline v0
