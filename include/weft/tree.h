// Trees: plain structs are modules.
//
//   struct Hyper { Variable lr{0.01f}; };
//   struct Net { Hyper hyper; std::vector<Dense> layers; };
//
//   for (auto [path, variable] : named_variables(net)) print("{} {}", path, variable.spec());   // hyper.lr f32[], layers.0.weight ...
//   Snapshot now = snapshot(net);                       // one consistent cut: nobody's transaction is half in it
//   Tensor bias = now[net.layers[0].bias];              // the same as now.at("layers.0.bias")
//   print("{}", summary(net));
//
// <weft/walk.h> says what may be part of a tree, and in which order it is walked. A Variable that is reached twice (copies share a
// slot) counts once, under its first path.
//
// Thread safety: as for a walk. Results are values of their own: they stay as they are when the tree changes or goes.
// Cost: one walk; `snapshot` of 200 Variables takes microseconds, since values are shared, not copied.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/gradient.h>
#include <weft/reflect.h>
#include <weft/tensor.h>
#include <weft/variable.h>

namespace weft::inline v0 {

namespace detail {
class VariableIndex;  // finds entries; null: there are none
WEFT_API std::string_view path_of(const VariableIndex* index, std::size_t i);
WEFT_API std::ptrdiff_t find(const VariableIndex* index, const Variable& variable);  // -1: it is not there
WEFT_API std::ptrdiff_t find(const VariableIndex* index, std::string_view path);
WEFT_API std::size_t find_or_throw(const VariableIndex* index, const Variable& variable, const char* what);
WEFT_API std::size_t find_or_throw(const VariableIndex* index, std::string_view path, const char* what, Location at);
WEFT_API void check_count(std::size_t values, std::size_t variables, const char* what);
template <class Value>
inline constexpr const char* kMapName = "named_variables";
template <>
inline constexpr const char* kMapName<Tensor> = "snapshot";
template <>
inline constexpr const char* kMapName<Grad> = "gradients";
}  // namespace detail

/// One value for each of some Variables of a tree, in the order of the tree. Cheap to copy except for the values.
template <class Value>
class VariableMap {
 public:
  struct Entry {
    std::string_view path;  ///< valid as long as the map or a copy of it
    Value value;
  };
  class Iterator;

  VariableMap() = default;
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  /// The value of a Variable. Throws ValueError for one that is not in the map.
  template <std::same_as<Variable> V>  // exactly: a number would convert to a new Variable
  Value operator[](const V& variable) const { return values_[detail::find_or_throw(index_.get(), variable, detail::kMapName<Value>)]; }
  /// The value at a path such as "layers.2.bias". Throws ValueError.
  Value at(std::string_view path, Location at = Location::here()) const {
    return values_[detail::find_or_throw(index_.get(), path, detail::kMapName<Value>, at)];
  }
  template <std::same_as<Variable> V>
  bool contains(const V& variable) const { return detail::find(index_.get(), variable) >= 0; }
  bool contains(std::string_view path) const { return detail::find(index_.get(), path) >= 0; }

  std::string_view path(std::size_t i) const { return detail::path_of(index_.get(), i); }  ///< REQUIRES: i < size()
  std::span<const Value> values() const { return values_; }
  std::span<Value> values() { return values_; }

  /// A map of the same Variables to other values. Throws ValueError unless there is one for each.
  template <class Other>
  VariableMap<Other> with(std::vector<Other> values) const {
    detail::check_count(values.size(), size(), detail::kMapName<Other>);
    return {index_, std::move(values)};
  }
  VariableMap(std::shared_ptr<const detail::VariableIndex> index, std::vector<Value> values)
      : index_(std::move(index)), values_(std::move(values)) {}

 private:
  std::shared_ptr<const detail::VariableIndex> index_;
  std::vector<Value> values_;
};

using NamedVariables = VariableMap<Variable>;
using Snapshot = VariableMap<Tensor>;  ///< the values that Variables had at one moment
using Gradients = VariableMap<Grad>;   ///< one entry for each trainable Variable; absent where the target does not depend on it

enum class Which : std::uint8_t { kAll, kTrainable };

/// What there is to say about the Variables of a tree.
struct WEFT_API TreeSummary {
  struct Row {
    std::string path;
    Spec spec;  ///< as declared: may have unknown sizes
    bool trainable = true;
    std::int64_t elements = 0, bytes = 0;  ///< of the present value
  };
  std::vector<Row> rows = {};
  std::int64_t elements = 0, trainable_elements = 0, bytes = 0;  ///< of all rows together
  std::string str() const;                                       ///< a table, the totals in its last line
};

namespace detail {
WEFT_API NamedVariables named_variables(void* tree, WalkFn walk, Which which);
WEFT_API std::vector<Variable> variables(void* tree, WalkFn walk, Which which);
WEFT_API Snapshot snapshot(void* tree, WalkFn walk);
WEFT_API TreeSummary summary(const NamedVariables& variables);
WEFT_API void restore(const NamedVariables& variables, const Snapshot& from, Location at);

/// Keeps the path of where it is.
class WEFT_API PathWalker : public TreeWalker {
 public:
  void enter(const PathStep& step) override;
  void leave() override;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::size_t> lengths_;  // of the paths above
};
}  // namespace detail

/// Calls visitor(path, leaf) for each leaf of a tree: std::string_view (valid during the call) and const TreeLeaf&. Through leaves that
/// are writable() the visitor may change the tree, but not its structure.
template <class T, class Visitor>
void visit(T&& tree, Visitor&& visitor) {
  class Caller final : public detail::PathWalker {
   public:
    explicit Caller(Visitor& f) : visitor_(f) {}
    void leaf(const TreeLeaf& leaf) override { visitor_(std::string_view(path()), leaf); }

   private:
    Visitor& visitor_;
  } caller(visitor);
  weft::walk(tree, caller);
}

/// The Variables of a tree, in its order, each once.
template <class T>
std::vector<Variable> variables(const T& tree) {
  return detail::variables(detail::address(tree), detail::kWalk<T>, Which::kAll);
}
template <class T>
std::vector<Variable> trainable_variables(const T& tree) {
  return detail::variables(detail::address(tree), detail::kWalk<T>, Which::kTrainable);
}
/// The same with their paths: for (auto [path, variable] : named_variables(net)) ...
template <class T>
NamedVariables named_variables(const T& tree, Which which = Which::kAll) {
  return detail::named_variables(detail::address(tree), detail::kWalk<T>, which);
}
/// All values of a tree's Variables at one moment: of each transaction it shows all writes or none. Inside `atomically` it shows what
/// that block sees.
template <class T>
Snapshot snapshot(const T& tree) {
  return detail::snapshot(detail::address(tree), detail::kWalk<T>);
}
/// The same of Variables that were found before: without another walk.
WEFT_API Snapshot snapshot(const NamedVariables& variables);
/// Puts the values of a snapshot back, by path, in one transaction; the tree may be another one with the same paths. Throws StateError, having
/// changed nothing, that names all paths that only one of them has and all values that do not fit.
template <class T>
void restore(const T& tree, const Snapshot& from, Location at = Location::here()) {
  detail::restore(weft::named_variables(tree), from, at);
}
/// Paths, specs, sizes and totals, printable: print("{}", summary(net)).
template <class T>
TreeSummary summary(const T& tree) {
  return detail::summary(weft::named_variables(tree));
}

// --- details ---

template <class Value>
class VariableMap<Value>::Iterator {
 public:
  using value_type = Entry;
  using difference_type = std::ptrdiff_t;
  Iterator() = default;
  Iterator(const VariableMap* map, std::size_t at) : map_(map), at_(at) {}
  Entry operator*() const { return {map_->path(at_), map_->values_[at_]}; }
  Iterator& operator++() { return ++at_, *this; }
  Iterator operator++(int) { return {map_, at_++}; }
  bool operator==(const Iterator& other) const { return at_ == other.at_; }

 private:
  const VariableMap* map_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace weft::inline v0
