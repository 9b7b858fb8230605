// The kind of a call: what of its arguments decides whether a trace fits.
#include <algorithm>
#include <unordered_map>

#include "state/function_core.h"

namespace weft::inline v0::detail {
namespace {

class KindWalker final : public TreeWalker {
 public:
  explicit KindWalker(CallLeaves& leaves) : leaves_(leaves) {}

  void enter(const PathStep& step) override {
    if (step.kind == PathStep::Kind::kKey) put('k', step.name.size()), text_ += step.name;
  }
  void holds(Holds what, std::size_t n) override { put('s', static_cast<std::size_t>(what)), put('n', n); }
  void structure(WalkFn type) override { put('c', reinterpret_cast<std::size_t>(type)); }  // a net of another class is another program
  void leaf(const TreeLeaf& leaf) override {
    if (const Tensor* const tensor = leaf.as<const Tensor>()) return add(*tensor);
    if (const Variable* const variable = leaf.as<const Variable>()) return add(*variable);
    const std::span<const std::byte> bytes = leaf.bytes();
    put('h', bytes.size());
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  void put(char what, std::size_t number) {
    text_ += what;
    text_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void add(const Tensor& tensor) {
    if (!tensor.defined()) return put('u', 0);
    const Spec& spec = tensor.spec();
    put('t', static_cast<std::size_t>(spec.dtype) * (kMaxRank + 1) + static_cast<std::size_t>(spec.shape.rank()));
    leaves_.tensors.push_back(const_cast<Tensor*>(&tensor));
    leaves_.kind.shapes.push_back(spec.shape);
  }
  void add(const Variable& variable) {
    const std::size_t ordinal = ordinal_of(variable);
    const Spec& spec = variable.spec();
    put('v', ordinal);
    put('d', static_cast<std::size_t>(spec.dtype) * 2 + variable.trainable());
    put('r', static_cast<std::size_t>(spec.shape.rank()));
    for (const std::int64_t size : spec.shape) put('z', static_cast<std::size_t>(size));
  }

  std::size_t ordinal_of(const Variable& variable) {
    constexpr std::size_t kFew = 8;
    auto& known = leaves_.variables;
    if (known.size() < kFew) {
      for (std::size_t i = 0; i < known.size(); ++i)
        if (known[i]->slot() == variable.slot()) return i;
    } else {
      if (ordinals_.empty())
        for (std::size_t i = 0; i < known.size(); ++i) ordinals_.emplace(known[i]->slot().get(), i);
      if (const auto [found, is_new] = ordinals_.emplace(variable.slot().get(), known.size()); !is_new) return found->second;
    }
    known.push_back(const_cast<Variable*>(&variable));
    return known.size() - 1;
  }

  CallLeaves& leaves_;
  CallText& text_ = leaves_.kind.skeleton;
  std::unordered_map<const Slot*, std::size_t, std::hash<const Slot*>, std::equal_to<>, RoomAllocator<std::pair<const Slot* const, std::size_t>>>
      ordinals_;  // once there are many
};

template <class... T>
bool is_one_of(const TreeLeaf& leaf) {
  return ((leaf.type() == typeid(T)) || ...);
}

// Not characters and enumerations, of which there are no Tensors.
bool could_be_tensor(const TreeLeaf& leaf) {
  return is_one_of<signed char, short, int, long, long long, unsigned char, unsigned short, unsigned, unsigned long, unsigned long long, float,
                   double, long double, float16, bfloat16>(leaf);
}

class NoteWalker final : public PathWalker {
 public:
  using FirstNotes = std::unordered_map<const Slot*, std::size_t>;
  NoteWalker(std::size_t argument, std::vector<LeafNote>& notes, FirstNotes& first) : argument_(argument), notes_(notes), first_(first) {}

  void holds(Holds what, std::size_t n) override {
    switch (what) {
      case Holds::kElements: return note("holds " + std::to_string(n) + " elements", Kind::kElements);
      case Holds::kNothing: return note("nothing", Kind::kNothing);
      default: return;
    }
  }
  void leaf(const TreeLeaf& leaf) override {
    if (const Variable* const variable = leaf.as<const Variable>()) return add(*variable);
    const Tensor* const tensor = leaf.as<const Tensor>();
    if (tensor == nullptr) return note(leaf.str(), is_one_of<bool>(leaf) ? Kind::kFlag : could_be_tensor(leaf) ? Kind::kNumber : Kind::kOther);
    note(leaf.str(), Kind::kTensor);
    if (tensor->defined()) notes_.back().spec = tensor->spec();
  }

 private:
  using Kind = LeafNote::Kind;
  void note(std::string text, Kind kind) { notes_.push_back({argument_, path(), std::move(text), kind}); }
  void add(const Variable& variable) {
    const auto [first, is_new] = first_.emplace(variable.slot().get(), notes_.size());
    note("Variable " + variable.spec().str(), Kind::kVariable);
    LeafNote& made = notes_.back();
    made.slot = variable.slot();
    made.trainable = variable.trainable();
    if (!is_new) made.same_as = first->second;
  }
  std::size_t argument_;
  std::vector<LeafNote>& notes_;
  FirstNotes& first_;
};

bool shape_takes(const Shape& traced, const Shape& given) {
  if (traced.rank() != given.rank()) return false;
  for (int axis = 0; axis < traced.rank(); ++axis)
    if (traced.dim(axis) != kUnknown && traced.dim(axis) != given.dim(axis)) return false;
  return true;
}

}  // namespace

bool CallKind::takes(const CallKind& call) const {
  return skeleton == call.skeleton && std::equal(shapes.begin(), shapes.end(), call.shapes.begin(), call.shapes.end(), shape_takes);
}

bool LeafNote::takes(const LeafNote& call) const {
  if (!same_place(call)) return false;
  if (!spec || !call.spec) return text == call.text && trainable == call.trainable && same_as == call.same_as;
  return spec->dtype == call.spec->dtype && shape_takes(spec->shape, call.spec->shape);
}

std::string LeafNote::shown() const {
  constexpr std::size_t kMost = 64;
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // within a character
  return text.substr(0, end) + (text[0] == '"' ? "...\" (" + std::to_string(text.size() - 2) + " bytes)" : "...");
}

CallLeaves leaves_of(std::span<const Argument> arguments) {
  CallLeaves leaves;
  KindWalker walker(leaves);
  for (const Argument& argument : arguments) Cursor::begin(walker, argument.at, true, argument.walk);
  return leaves;
}

std::vector<LeafNote> notes_of(std::span<const Argument> arguments) {
  std::vector<LeafNote> notes;
  NoteWalker::FirstNotes first;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    NoteWalker walker(i, notes, first);
    Cursor::begin(walker, arguments[i].at, true, arguments[i].walk);
  }
  return notes;
}

}  // namespace weft::inline v0::detail
