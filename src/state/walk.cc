#include <weft/walk.h>

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "base/room.h"
#include <weft/print.h>
#include <weft/reflect.h>
#include <weft/variable.h>

namespace weft::inline v0 {
namespace {

constexpr std::size_t kDeepest = 1000;  // structs inside each other: recursion that ends before the stack does

bool in_identifier(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u >= 0x80 || c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view last_identifier(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !in_identifier(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && in_identifier(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

std::string readable(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return text ? text.get() : type.name();
}

template <class T>
T read_as(const void* at, std::size_t size = sizeof(T)) {
  T value{};
  std::memcpy(&value, at, size);
  return value;
}

}  // namespace

void PathStep::append_to(std::string& path) const {
  if (!path.empty()) path += '.';
  if (kind == Kind::kIndex) {
    char digits[24];
    path.append(digits, std::to_chars(digits, digits + sizeof digits, index).ptr);
  } else if (kind == Kind::kField || name.find_first_of(".\\") == std::string_view::npos) {
    path += name;
  } else {
    for (const char c : name) {
      if (c == '.' || c == '\\') path += '\\';
      path += c;
    }
  }
}

// --- leaves ---

std::span<const std::byte> TreeLeaf::bytes() const {
  using detail::LeafForm;
  switch (type_->form) {
    case LeafForm::kVariable:
    case LeafForm::kTensor: return {};
    case LeafForm::kText: return std::as_bytes(std::span(*static_cast<const std::string*>(at_)));
    case LeafForm::kShape: return std::as_bytes(static_cast<const Shape*>(at_)->sizes());
    default: return {static_cast<const std::byte*>(at_), type_->size};
  }
}

std::string TreeLeaf::str() const {
  using detail::LeafForm;
  const std::size_t size = type_->size;
  if (type() == typeid(DType)) return std::string(name_of(*static_cast<const DType*>(at_)));
  if (const char* const c = as<const char>(); c != nullptr && *c >= ' ' && *c <= '~') return {'\'', *c, '\''};
  switch (type_->form) {
    case LeafForm::kVariable: return static_cast<const Variable*>(at_)->spec().str();
    case LeafForm::kTensor: {
      const Tensor& tensor = *static_cast<const Tensor*>(at_);
      return tensor.defined() ? tensor.spec().str() : "undefined";
    }
    case LeafForm::kBoolean: return *static_cast<const bool*>(at_) ? "true" : "false";
    case LeafForm::kSigned:
      return std::to_string(size == 1   ? read_as<std::int8_t>(at_)
                            : size == 2 ? read_as<std::int16_t>(at_)
                            : size == 4 ? read_as<std::int32_t>(at_)
                                        : read_as<std::int64_t>(at_));
    case LeafForm::kUnsigned: return std::to_string(read_as<std::uint64_t>(at_, size));  // little-endian, as Weft is throughout
    case LeafForm::kFloating:
      if (size == sizeof(float)) return format("{}", read_as<float>(at_));
      return format("{}", size == sizeof(double) ? read_as<double>(at_) : static_cast<double>(*static_cast<const long double*>(at_)));
    case LeafForm::kHalf: return format("{}", static_cast<float>(*static_cast<const float16*>(at_)));
    case LeafForm::kBrain: return format("{}", static_cast<float>(*static_cast<const bfloat16*>(at_)));
    case LeafForm::kText: return '"' + *static_cast<const std::string*>(at_) + '"';
    case LeafForm::kShape: return static_cast<const Shape*>(at_)->str();
    case LeafForm::kNone: break;
  }
  throw InternalError("a leaf has no form");
}

// --- walkers ---

// What a walk has met: an address alone is not enough, since a struct begins where its first field does.
struct TreeWalker::Met : InRoom {
  struct Object {
    const void* at;
    detail::WalkFn type;
    friend bool operator==(const Object&, const Object&) = default;
  };
  struct Hash {
    std::size_t operator()(const Object& object) const {
      return std::hash<const void*>()(object.at) * 31 + std::hash<detail::WalkFn>()(object.type);
    }
  };
  CallList<Object> around;  // the structs that are being walked, outermost first
  std::unordered_map<Object, std::size_t, Hash, std::equal_to<>, RoomAllocator<std::pair<const Object, std::size_t>>> pointees;
};

TreeWalker::TreeWalker() : met_(std::make_unique<Met>()) {}
TreeWalker::~TreeWalker() = default;
void TreeWalker::enter(const PathStep&) {}
void TreeWalker::leave() {}
void TreeWalker::holds(Holds, std::size_t) {}
void TreeWalker::structure(detail::WalkFn) {}

namespace detail {

void names_from_spellings(const char* const* spellings, std::string_view* names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = spellings[i];
    names[i] = last_identifier(text.substr(0, text.rfind('}')));
  }
}

void names_from_list(std::string_view list, std::string_view* names, std::size_t count) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t end = begin;
    for (int depth = 0; end < list.size() && (depth > 0 || list[end] != ','); ++end) {
      if (list[end] == '(') ++depth;
      if (list[end] == ')') --depth;
    }
    names[i] = last_identifier(list.substr(begin, end - begin));
    begin = std::min(end + 1, list.size());
  }
}

void fail_hidden_class(const std::type_info& real, const std::type_info& walked) {
  throw StateError("walk", "an object of class " + readable(real) + " is walked as its base " + readable(walked) + ", which does not know "
                   "its fields; give it a WEFT_FIELDS of its own, and the base whose pointers are walked WEFT_VIRTUAL_FIELDS.", Location());
}

void Cursor::begin(TreeWalker& walker, void* tree, bool writable, WalkFn walk) {
  walker.met_->around.clear();
  walker.met_->pointees.clear();
  walk({walker, writable}, tree);
}

void Cursor::members(void* object, WalkFn type, const std::string_view* names, const MemberType* types, void* const* at,
                     std::size_t count) const {
  auto& around = walker.met_->around;
  if (around.size() == kDeepest)
    throw ValueError("walk", "more than " + std::to_string(kDeepest) + " structs lie inside each other; "
                     "hold a long chain in a std::vector.", Location());
  around.push_back({object, type});
  walker.structure(type);
  for (std::size_t i = 0; i < count; ++i) {
    if (types[i].walk == nullptr) continue;
    const PathStep step{PathStep::Kind::kField, names[i], i};
    walker.enter(step);
    types[i].walk({walker, writable && !types[i].is_const}, at[i]);
    walker.leave();
  }
  around.pop_back();
}

void Cursor::parts(const MemberType* types, void* const* at, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    const PathStep step{PathStep::Kind::kIndex, {}, i};
    walker.enter(step);
    types[i].walk({walker, writable && !types[i].is_const}, at[i]);
    walker.leave();
  }
}

void Cursor::elements(const void* first, std::size_t stride, std::size_t count, WalkFn walk) const {
  size(count);
  char* at = static_cast<char*>(const_cast<void*>(first));
  for (std::size_t i = 0; i < count; ++i, at += stride) {
    const PathStep step{PathStep::Kind::kIndex, {}, i};
    walker.enter(step);
    walk(*this, at);
    walker.leave();
  }
}

void Cursor::entry(std::string_view key, std::size_t index, void* value, WalkFn walk) const {
  const PathStep step{PathStep::Kind::kKey, key, index};
  walker.enter(step);
  walk(*this, value);
  walker.leave();
}

void Cursor::entry(std::int64_t key, bool wide, std::size_t index, void* value, WalkFn walk) const {
  char digits[24];
  char* const end = digits + sizeof digits;
  const char* const last = wide ? std::to_chars(digits, end, static_cast<std::uint64_t>(key)).ptr : std::to_chars(digits, end, key).ptr;
  entry(std::string_view(digits, static_cast<std::size_t>(last - digits)), index, value, walk);
}

void Cursor::optional(const void* value, WalkFn walk) const {
  walker.holds(value != nullptr ? TreeWalker::Holds::kSomething : TreeWalker::Holds::kNothing, 0);
  if (value != nullptr) walk(*this, const_cast<void*>(value));
}

void Cursor::pointee(const void* object, bool is_const, WalkFn walk) const {
  using Holds = TreeWalker::Holds;
  if (object == nullptr) return walker.holds(Holds::kNothing, 0);
  auto& [around, pointees] = *walker.met_;
  for (std::size_t i = 0; i < around.size(); ++i) {
    if (around[i] == TreeWalker::Met::Object{object, walk}) return walker.holds(Holds::kAround, i);
  }
  const auto [known, is_new] = pointees.try_emplace({object, walk}, pointees.size());
  if (!is_new) return walker.holds(Holds::kShownBefore, known->second);
  walker.holds(Holds::kSomething, 0);
  walk({walker, !is_const}, const_cast<void*>(object));
}

}  // namespace detail
}  // namespace weft::inline v0
