// Which types are trees, and how their parts are found: the machinery below <weft/tree.h>.
//
// The fields of a struct come from a structured binding of the right length, which is found by trying how many initialisers the type
// takes. Their names come from the compiler's spelling of a template argument that points into an object that is never defined.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <weft/tensor.h>
#include <weft/walk.h>

namespace weft::inline v0 {
namespace detail {

// --- the fields of a struct ---

#ifdef __clang__  // what follows names things that are never defined
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

inline constexpr std::size_t kMaxFields = 64;  // without WEFT_FIELDS

/// Stands for an initialiser of any type. Only ever named, never made; the body is for clang, which wants one where std::optional asks.
struct AnyField {
  template <class F>
  operator F() const noexcept { __builtin_unreachable(); }
};
/// Converts to bases of T alone.
template <class T>
struct AnyBaseOf {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  operator B() const noexcept;
};
template <class T>
concept HasBase = requires { T{AnyBaseOf<T>{}}; };

template <class T, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyField{})...}; };
}
template <class T, std::size_t N>
inline constexpr bool kTakes = takes<T>(std::make_index_sequence<N>{});

// T takes N initialisers for all N from some least number to the number of its fields. That least number is 0 unless a field must be
// initialised; then it has to be found one by one.
template <class T, std::size_t N = 0>
consteval std::size_t least_initialisers() {
  if constexpr (N > kMaxFields || kTakes<T, N>) return N;
  else return least_initialisers<T, N + 1>();
}
// REQUIRES: T takes Low initialisers and does not take High.
template <class T, std::size_t Low, std::size_t High>
consteval std::size_t most_initialisers() {
  constexpr std::size_t middle = (Low + High) / 2;
  if constexpr (High - Low == 1) return Low;
  else if constexpr (kTakes<T, middle>) return most_initialisers<T, middle, High>();
  else return most_initialisers<T, Low, middle>();
}
inline constexpr std::size_t kTooManyFields = kMaxFields + 1, kNoCount = kMaxFields + 2;
template <class T>
consteval std::size_t count_fields() {
  constexpr std::size_t least = least_initialisers<T>();
  if constexpr (kTakes<T, kMaxFields + 1>) return kTooManyFields;
  else if constexpr (least > kMaxFields) return kNoCount;
  else return most_initialisers<T, least, kMaxFields + 1>();
}
template <class T>
inline constexpr std::size_t kFieldCount = count_fields<T>();

/// Calls f with references to the N fields of an object. A compiler that stops here has met a field that cannot be bound, as the
/// name says.
template <std::size_t N>
struct a_walked_struct_has_no_C_array_no_bit_field_no_anonymous_union_else_list_its_fields_with_WEFT_FIELDS;
#define WEFT_BIND_1(q) f##q##0
#define WEFT_BIND_2(q) WEFT_BIND_1(q), f##q##1
#define WEFT_BIND_3(q) WEFT_BIND_2(q), f##q##2
#define WEFT_BIND_4(q) WEFT_BIND_3(q), f##q##3
#define WEFT_BIND_5(q) WEFT_BIND_4(q), f##q##4
#define WEFT_BIND_6(q) WEFT_BIND_5(q), f##q##5
#define WEFT_BIND_7(q) WEFT_BIND_6(q), f##q##6
#define WEFT_BIND_8(q) WEFT_BIND_7(q), f##q##7
#define WEFT_BIND_BEFORE_0
#define WEFT_BIND_BEFORE_1 WEFT_BIND_8(0),
#define WEFT_BIND_BEFORE_2 WEFT_BIND_BEFORE_1 WEFT_BIND_8(1),
#define WEFT_BIND_BEFORE_3 WEFT_BIND_BEFORE_2 WEFT_BIND_8(2),
#define WEFT_BIND_BEFORE_4 WEFT_BIND_BEFORE_3 WEFT_BIND_8(3),
#define WEFT_BIND_BEFORE_5 WEFT_BIND_BEFORE_4 WEFT_BIND_8(4),
#define WEFT_BIND_BEFORE_6 WEFT_BIND_BEFORE_5 WEFT_BIND_8(5),
#define WEFT_BIND_BEFORE_7 WEFT_BIND_BEFORE_6 WEFT_BIND_8(6),
#define WEFT_BIND_CASE(q, r)                                                                                             \
  template <>                                                                                                            \
  struct a_walked_struct_has_no_C_array_no_bit_field_no_anonymous_union_else_list_its_fields_with_WEFT_FIELDS<q * 8 + r> { \
    template <class T, class F>                                                                                          \
    static constexpr decltype(auto) bind(T& object, F&& f) {                                                             \
      auto& [WEFT_BIND_BEFORE_##q WEFT_BIND_##r(q)] = object;                                                            \
      return f(WEFT_BIND_BEFORE_##q WEFT_BIND_##r(q));                                                                   \
    }                                                                                                                    \
  };
#define WEFT_BIND_ROW(q)                                                                              \
  WEFT_BIND_CASE(q, 1) WEFT_BIND_CASE(q, 2) WEFT_BIND_CASE(q, 3) WEFT_BIND_CASE(q, 4) WEFT_BIND_CASE(q, 5) \
  WEFT_BIND_CASE(q, 6) WEFT_BIND_CASE(q, 7) WEFT_BIND_CASE(q, 8)
WEFT_BIND_ROW(0)
WEFT_BIND_ROW(1)
WEFT_BIND_ROW(2)
WEFT_BIND_ROW(3)
WEFT_BIND_ROW(4)
WEFT_BIND_ROW(5)
WEFT_BIND_ROW(6)
WEFT_BIND_ROW(7)
template <std::size_t N>
using Bind = a_walked_struct_has_no_C_array_no_bit_field_no_anonymous_union_else_list_its_fields_with_WEFT_FIELDS<N>;

// --- names ---

struct FieldPtr { const void* at; };  // clang 14 takes no bare pointer to a subobject as a template argument
template <class T>
struct Fake { T value; };

template <class T>
extern const Fake<T> fake;  // never defined: only addresses inside it are spelled
template <class T>
consteval auto field_ptrs() {  // not a constexpr variable: g++ would emit it for local types and not link
  return Bind<kFieldCount<T>>::bind(fake<T>.value, [](auto&... f) { return std::array<const void*, sizeof...(f)>{std::addressof(f)...}; });
}
template <class T, FieldPtr P>
consteval const char* spelling() {
  return __PRETTY_FUNCTION__;
}
template <class T, std::size_t... I>
auto field_spellings(std::index_sequence<I...>) {
  return std::array<const char*, sizeof...(I)>{spelling<T, FieldPtr{field_ptrs<T>()[I]}>()...};
}

#ifdef __clang__
#pragma clang diagnostic pop
#endif

/// Replaces spellings of template arguments by the names of the fields at their ends.
WEFT_API void names_from_spellings(const char* const* spellings, std::string_view* names, std::size_t count);

template <class T>
const std::string_view* field_names() {
  static const std::array<std::string_view, kFieldCount<T>> names = [] {
    const auto spellings = field_spellings<T>(std::make_index_sequence<kFieldCount<T>>{});
    std::array<std::string_view, kFieldCount<T>> list;
    names_from_spellings(spellings.data(), list.data(), list.size());
    return list;
  }();
  return names.data();
}

// --- what is a tree, and what it shows ---

template <class T>
struct Walk {
  static void run(Cursor at, T& object) {
    if constexpr (IsLeaf<T>) {
      at.leaf(detail::address(object), kLeafType<T>);
    } else if constexpr (std::is_class_v<T> && FieldAccess::lists<T>()) {
      static_assert(FieldAccess::lists_itself<T>(),
                    "this class inherits the WEFT_FIELDS of a base, which does not know its members; "
                    "write a WEFT_FIELDS that names those of both.");
      FieldAccess::walk(at, object);
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
      fields(at, object);
    } else {
      static_assert(!sizeof(T), "this type is no tree: a leaf is a Variable, a Tensor, a number, an enumeration, a std::string or a Shape. "
                    "A class with constructors or private members lists its fields with WEFT_FIELDS(a, b); "
                    "a class that has a member of this type leaves it out with WEFT_FIELDS(a, b, untracked(member)).");
    }
  }

 private:
  static void fields(Cursor at, T& object) {
    constexpr std::size_t count = kFieldCount<T>;
    if constexpr (HasBase<T>) {
      static_assert(!sizeof(T), "this struct has a base class; list the fields of both with WEFT_FIELDS(a, b).");
    } else if constexpr (count == kTooManyFields) {
      static_assert(!sizeof(T), "this struct has more than 64 fields; list them with WEFT_FIELDS(a, b), which has no limit.");
    } else if constexpr (count == kNoCount || (count == 0 && !std::is_empty_v<T>)) {
      static_assert(!sizeof(T), "the fields of this struct cannot be counted, perhaps because one is a reference; "
                    "list them with WEFT_FIELDS(a, b).");
    } else if constexpr (count > 0) {
      Bind<count>::bind(object, [&](auto&... f) {
        static constexpr MemberType types[] = {member<std::remove_reference_t<decltype(f)>>::type...};
        void* const members[] = {detail::address(f)...};
        at.members(detail::address(object), kWalk<T>, field_names<T>(), types, members, count);
      });
    }
  }
};

template <class Sequence>
struct WalkSequence {
  static void run(Cursor at, Sequence& list) {
    static_assert(requires { list.data(); }, "the elements of a std::vector<bool> have no address; use std::vector<std::uint8_t>.");
    if constexpr (requires { list.data(); }) {
      using T = std::remove_pointer_t<decltype(list.data())>;
      at.below<T>().elements(list.data(), sizeof(T), list.size(), kWalk<T>);
    }
  }
};
template <class T, class A>
struct Walk<std::vector<T, A>> : WalkSequence<std::vector<T, A>> {};
template <class T, std::size_t N>
struct Walk<std::array<T, N>> : WalkSequence<std::array<T, N>> {};
template <class T, std::size_t N>
struct Walk<SmallVector<T, N>> : WalkSequence<SmallVector<T, N>> {};

template <class K, class V>
void walk_entry(Cursor at, const K& key, std::size_t index, V& value) {
  if constexpr (std::is_same_v<K, std::string>) at.below<V>().entry(key, index, detail::address(value), kWalk<V>);
  else if constexpr (std::is_enum_v<K>) detail::walk_entry(at, static_cast<std::underlying_type_t<K>>(key), index, value);
  else at.below<V>().entry(static_cast<std::int64_t>(key), std::is_unsigned_v<K>, index, detail::address(value), kWalk<V>);
}
template <class T>
concept MapKey = std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;
template <class Map>
struct WalkMap {
  using K = typename Map::key_type;
  static void run(Cursor at, Map& map) {
    static_assert(MapKey<K>, "the keys of a map in a tree become parts of paths: make them std::string, integers or an enumeration.");
    at.size(map.size());
    std::size_t index = 0;
    if constexpr (!MapKey<K>) return;
    else if constexpr (requires { map.hash_function(); }) {
      std::vector<typename Map::value_type*> sorted;
      for (auto& entry : map) sorted.push_back(&entry);
      std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
      for (auto* entry : sorted) detail::walk_entry(at, entry->first, index++, entry->second);
    } else {
      for (auto& [key, value] : map) detail::walk_entry(at, key, index++, value);
    }
  }
};
template <class K, class V, class C, class A>
struct Walk<std::map<K, V, C, A>> : WalkMap<std::map<K, V, C, A>> {};
template <class K, class V, class H, class E, class A>
struct Walk<std::unordered_map<K, V, H, E, A>> : WalkMap<std::unordered_map<K, V, H, E, A>> {};

template <class T>
struct Walk<std::optional<T>> {
  static void run(Cursor at, std::optional<T>& value) { at.below<T>().optional(value ? detail::address(*value) : nullptr, kWalk<T>); }
};
template <class... T>
struct Walk<std::tuple<T...>> {
  static void run(Cursor at, std::tuple<T...>& tuple) {
    static constexpr std::array<MemberType, sizeof...(T)> types{member<std::remove_reference_t<T>>::type...};
    std::apply([&](auto&... f) { at.parts(types.data(), std::array<void*, types.size()>{detail::address(f)...}.data(), types.size()); },
               tuple);
  }
};
template <class A, class B>
struct Walk<std::pair<A, B>> {
  static void run(Cursor at, std::pair<A, B>& pair) {
    static constexpr std::string_view names[] = {"first", "second"};
    static constexpr MemberType types[] = {member<std::remove_reference_t<A>>::type, member<std::remove_reference_t<B>>::type};
    void* const members[] = {detail::address(pair.first), detail::address(pair.second)};
    at.members(&pair, kWalk<std::pair<A, B>>, names, types, members, 2);
  }
};

template <class T>
void walk_pointee(Cursor at, std::remove_extent_t<T>* object) {
  constexpr bool is_tree = std::is_object_v<T> && !std::is_array_v<T> && !std::is_same_v<std::remove_cv_t<T>, char>;
  static_assert(is_tree, "this pointer leads to no tree; use std::string for text, std::vector for an array, "
                "and leave the rest out with WEFT_FIELDS(a, b, untracked(member)).");
  if constexpr (is_tree) at.pointee(object, std::is_const_v<T>, kWalk<T>);
}
template <class T>
struct Walk<T*> {
  static void run(Cursor at, T* pointer) { detail::walk_pointee<T>(at, pointer); }
};
template <class T, class D>
struct Walk<std::unique_ptr<T, D>> {
  static void run(Cursor at, std::unique_ptr<T, D>& pointer) { detail::walk_pointee<T>(at, pointer.get()); }
};
template <class T>
struct Walk<std::shared_ptr<T>> {
  static void run(Cursor at, std::shared_ptr<T>& pointer) { detail::walk_pointee<T>(at, pointer.get()); }
};
}  // namespace detail

/// Shows a tree to a walker. Throws ValueError for more than 1000 structs inside each other, StateError for an object whose class,
/// derived from the one that is walked, does not list its fields.
template <class T>
void walk(T&& tree, TreeWalker& walker) {
  using Tree = std::remove_reference_t<T>;
  detail::Cursor::begin(walker, detail::address(tree), !std::is_const_v<Tree>, detail::kWalk<Tree>);
}

}  // namespace weft::inline v0
