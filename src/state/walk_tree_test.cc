// Which types are trees, and what a walk shows of them.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <mutex>

#include "tests/support.h"
#include <weft/tree.h>

namespace weft {
namespace {

using test::message;

// A walk as text: steps, leaves, and what containers hold.
class Log final : public TreeWalker {
 public:
  void enter(const PathStep& step) override {
    static constexpr const char* kinds[] = {".", "#", "@"};
    text += kinds[static_cast<int>(step.kind)];
    text += step.kind == PathStep::Kind::kIndex ? std::to_string(step.index) : std::string(step.name);
    text += '(';
  }
  void leave() override { text += ')'; }
  void leaf(const TreeLeaf& leaf) override { text += (leaf.writable() ? "" : "const ") + leaf.str(); }
  void holds(Holds what, std::size_t n) override {
    static constexpr const char* kinds[] = {"elements", "nothing", "something", "before", "around"};
    text += kinds[static_cast<int>(what)];
    if (what != Holds::kNothing && what != Holds::kSomething) text += std::to_string(n);
    text += ' ';
  }
  std::string text;
};

template <class T>
std::string log_of(T&& tree) {
  Log log;
  walk(tree, log);
  return log.text;
}

// The paths of all leaves, separated by blanks.
template <class T>
std::string paths_of(T&& tree) {
  std::string paths;
  visit(tree, [&](std::string_view path, const TreeLeaf&) { paths += (paths.empty() ? "" : " ") + std::string(path); });
  return paths;
}

struct Dense {
  Variable weight, bias;
  Dense(int in, int out) : weight{Tensor(std::vector<float>(static_cast<std::size_t>(in * out)), Shape{in, out})}, bias{0.f} {}
  WEFT_FIELDS(weight, bias)
};
struct Net {  // without a default constructor
  Dense hidden, out;
};
enum class Mode : std::uint8_t { kTrain = 3 };

TEST(Walk, ShowsFieldsInOrder) {
  Net net{Dense(2, 3), Dense(3, 1)};
  EXPECT_EQ(log_of(net), ".hidden(.weight(f32[2,3]).bias(f32[])).out(.weight(f32[3,1]).bias(f32[]))");
  EXPECT_EQ(paths_of(net), "hidden.weight hidden.bias out.weight out.bias");
}

TEST(Walk, ShowsHostLeaves) {
  struct Host {
    bool flag = true;
    char letter = 'a';
    std::int8_t small = -3;
    std::int16_t middle = -300;
    int count = 7;
    long wide = -5;
    std::uint8_t byte = 200;
    std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    float rate = 0.1f;
    double precise = 0.1;
    long double more = 0.5L;
    float16 half = float16(1.5f);
    bfloat16 brain = bfloat16(2.5f);
    Mode mode = Mode::kTrain;
    std::string name = "adam";
    Shape shape = {2, 3};
    DType dtype = f64;
    Spec spec = {f32, {4}};
  } host;
  EXPECT_EQ(log_of(host),
            ".flag(true).letter('a').small(-3).middle(-300).count(7).wide(-5).byte(200).huge(18446744073709551615)"
            ".rate(0.1).precise(0.1).more(0.5)"
            ".half(1.5).brain(2.5).mode(3).name(\"adam\").shape([2,3]).dtype(f64).spec(.dtype(f32).shape([4]))");
}

TEST(Walk, GivesHostValuesByTypeAndBytes) {
  struct Host {
    float x = 1.5f;
    long double y = 2;
    std::string s = "ab";
    Shape shape = {3};
    Mode mode = Mode::kTrain;
    Tensor tensor = 1.f;
  } host;
  std::vector<std::size_t> sizes;
  visit(host, [&](std::string_view, const TreeLeaf& leaf) {
    sizes.push_back(leaf.bytes().size());
    EXPECT_EQ(leaf.kind(), leaf.type() == typeid(Tensor) ? TreeLeaf::Kind::kTensor : TreeLeaf::Kind::kHost);
    if (auto* x = leaf.as<float>()) *x = 2.5f;
    if (auto* mode = leaf.as<Mode>()) *mode = Mode(4);
    if (auto* tensor = leaf.as<Tensor>()) *tensor = 8.f;
    EXPECT_EQ(leaf.as<unsigned>(), nullptr);
  });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double), 2, 8, 1, 0}));
  EXPECT_EQ(host.x, 2.5f);
  EXPECT_EQ(host.mode, Mode(4));
  EXPECT_EQ(host.tensor.item<float>(), 8.f);
}

TEST(Walk, KeepsConst) {
  struct Inner {
    int a = 1;
    const int b = 2;
  };
  struct Outer {
    Inner free = {};
    const Inner fixed = {};
    const Inner* pointer = nullptr;
    std::vector<Inner> list{1};
  } outer;
  outer.pointer = &outer.free;
  EXPECT_EQ(log_of(outer),
            ".free(.a(1).b(const 2)).fixed(.a(const 1).b(const 2)).pointer(something .a(const 1).b(const 2))"
            ".list(elements1 #0(.a(1).b(const 2)))");
  EXPECT_EQ(log_of(std::as_const(outer.free)), ".a(const 1).b(const 2)");
  visit(std::as_const(outer), [](std::string_view path, const TreeLeaf& leaf) {
    EXPECT_EQ(leaf.as<int>(), nullptr) << path;
    EXPECT_NE(leaf.as<const int>(), nullptr) << path;
  });
}

TEST(Walk, ShowsContainers) {
  EXPECT_EQ(log_of(std::vector<int>{4, 5}), "elements2 #0(4)#1(5)");
  EXPECT_EQ(log_of(std::array<int, 0>{}), "elements0 ");
  std::array<const int, 1> fixed{1};
  EXPECT_EQ(log_of(fixed), "elements1 #0(const 1)");
  EXPECT_EQ(log_of(std::optional<const int>{3}), "something const 3");
  EXPECT_EQ(log_of(std::map<int, const int>{{2, 3}}), "elements1 @2(const 3)");
  EXPECT_EQ(log_of(SmallVector<int, 2>{1}), "elements1 #0(1)");
  EXPECT_EQ(log_of(std::map<int, bool>{{2, true}, {-1, false}}), "elements2 @-1(false)@2(true)");
  EXPECT_EQ(log_of(std::map<std::uint64_t, int>{{std::numeric_limits<std::uint64_t>::max(), 1}}), "elements1 @18446744073709551615(1)");
  EXPECT_EQ(log_of(std::map<Mode, int>{{Mode::kTrain, 1}}), "elements1 @3(1)");
  EXPECT_EQ(log_of(std::optional<int>{}), "nothing ");
  EXPECT_EQ(log_of(std::optional<int>{3}), "something 3");
  EXPECT_EQ(log_of(std::tuple<int, std::string, const bool>{1, "b", true}), "#0(1)#1(\"b\")#2(const true)");
  EXPECT_EQ(log_of(std::tuple<>{}), "");
  EXPECT_EQ(log_of(std::pair<int, double>{1, 2}), ".first(1).second(2)");
  EXPECT_EQ(log_of(std::unique_ptr<int>{}), "nothing ");
  EXPECT_EQ(log_of(std::make_unique<int>(3)), "something 3");
  EXPECT_EQ(log_of(std::make_shared<const int>(3)), "something const 3");
  int a = 1;
  const Variable v{2.f};
  EXPECT_EQ(log_of(std::tie(a, v)), "#0(1)#1(const f32[])");
  EXPECT_EQ(log_of(std::vector<std::vector<int>>{{}, {1}}), "elements2 #0(elements0 )#1(elements1 #0(1))");
}

TEST(Walk, SortsUnorderedKeys) {
  std::unordered_map<std::string, int> by_name;
  std::unordered_map<int, int> by_number;
  for (int i = 0; i < 12; ++i) {
    by_name[std::string(1, static_cast<char>('l' - i))] = i;
    by_number[-i * 1000] = i;
  }
  EXPECT_EQ(paths_of(by_name), "a b c d e f g h i j k l");
  EXPECT_EQ(paths_of(by_number), "-11000 -10000 -9000 -8000 -7000 -6000 -5000 -4000 -3000 -2000 -1000 0");
}

TEST(Walk, KeepsPathsApartWhateverTheKeys) {
  const std::map<std::string, std::map<std::string, int>> maps = {{"a", {{"b.c", 1}, {"", 2}}}, {"a.b", {{"c", 3}}}, {"a\\.b", {{"c", 4}}}};
  EXPECT_EQ(paths_of(maps), R"(a. a.b\.c a\.b.c a\\\.b.c)");
}

struct Node {
  Node* parent = nullptr;
  int value = 0;
  std::vector<std::unique_ptr<Node>> children = {};
};

TEST(Walk, EndsWithCycles) {
  Node root{nullptr, 1};
  root.children.push_back(std::make_unique<Node>(Node{&root, 2}));
  root.children.push_back(std::make_unique<Node>(Node{root.children[0].get(), 3}));
  EXPECT_EQ(log_of(root),
            ".parent(nothing ).value(1).children(elements2 #0(something .parent(around0 ).value(2).children(elements0 ))"
            "#1(something .parent(before0 ).value(3).children(elements0 )))");
  root.parent = &root;
  EXPECT_EQ(paths_of(root), "value children.0.value children.1.value");
}

TEST(Walk, ShowsSharedObjectsOnce) {
  struct Pair {
    std::shared_ptr<Node> a, b;
    std::shared_ptr<int> value;  // begins where nothing else does, but shares the owner
  } pair;
  pair.a = pair.b = std::make_shared<Node>();
  pair.value = std::shared_ptr<int>(pair.a, &pair.a->value);
  EXPECT_EQ(paths_of(pair), "a.value value");
  // A struct and its first field have one address, and are two objects.
  struct First { int x = 1; };
  First first;
  std::tuple<First*, int*, First*> pointers{&first, &first.x, &first};
  EXPECT_EQ(log_of(pointers), "#0(something .x(1))#1(something 1)#2(before0 )");
}

TEST(Walk, RefusesChainsThatAreTooDeep) {
  struct Link {
    std::unique_ptr<Link> next;
  };
  const auto chain = [](int length) {
    Link first;
    for (int i = 1; i < length; ++i) first.next = std::make_unique<Link>(Link{std::move(first.next)});
    return first;
  };
  EXPECT_EQ(paths_of(chain(1000)), "");
  try {
    paths_of(chain(1001));
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "walk: more than 1000 structs lie inside each other; hold a long chain in a std::vector.");
  }
}

TEST(Walk, CanBeRepeatedAfterAnException) {
  class Throws final : public TreeWalker {
   public:
    void leaf(const TreeLeaf&) override {
      if (++leaves == 2) throw 1;
    }
    int leaves = 0;
  } walker;
  const std::tuple<Node, Node> nodes;
  EXPECT_THROW(walk(nodes, walker), int);
  walk(nodes, walker);
  EXPECT_EQ(walker.leaves, 4);
}

struct Empty {};
template <class T>
struct Twice {
  T first_one, second_one;
};
struct Immovable {
  explicit Immovable(int) {}
  Immovable(const Immovable&) = delete;
  int n = 1;
  WEFT_FIELDS(n)
};

TEST(Walk, TakesAnyPlainStruct) {
  struct Local {
    Empty none, nothing;
    Twice<Twice<int>> nested = {};
    Immovable fixed{1};
    std::optional<Immovable> maybe = {};
    int größe = 0;
    int _x1 = 0;
    int method() const { return _x1; }
  };
  EXPECT_EQ(paths_of(Local{}),
            "nested.first_one.first_one nested.first_one.second_one nested.second_one.first_one nested.second_one.second_one "
            "fixed.n größe _x1");
  EXPECT_EQ(log_of(Empty{}), "");
}

struct Wide64 {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1;
  int d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, g3;
};
struct Wide66 {
  Wide64 wide;
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1;
  int d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, g3;
  int last;
  WEFT_FIELDS(wide, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9,
              d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9,
              g0, g1, g2, g3, last)
};

TEST(Walk, TakesSixtyFourFieldsAndMoreThatAreListed) {
  const std::string of64 = paths_of(Wide64{}), of66 = paths_of(Wide66{});
  EXPECT_EQ(std::count(of64.begin(), of64.end(), ' '), 63);
  EXPECT_EQ(of64.substr(of64.size() - 8), "g1 g2 g3");
  EXPECT_EQ(std::count(of66.begin(), of66.end(), ' '), 64 + 65 - 1);
  EXPECT_EQ(of66.substr(of66.size() - 7), "g3 last");
}

// --- lists of fields ---

class Private {
 public:
  explicit Private(int n) : count_(n) {}

 private:
  WEFT_FIELDS(weight_, untracked(activation_), count_, untracked(mutex_))
  Variable weight_{1.f};
  std::function<Tensor(Tensor)> activation_;
  int count_;
  std::mutex mutex_;
};

TEST(Fields, AreListedByClassesWithPrivateMembers) { EXPECT_EQ(log_of(Private(3)), ".weight_(f32[]).count_(3)"); }

TEST(Fields, AreListedByLocalClassesAndTemplates) {
  struct Local {
    explicit Local(int n) : a(n) {}
    int a;
    const bool b = true;
    WEFT_FIELDS(a, b)
  };
  Local local(1);
  EXPECT_EQ(log_of(local), ".a(1).b(const true)");
  EXPECT_EQ(log_of(std::as_const(local)), ".a(const 1).b(const true)");
  struct None {
    None() {}
    WEFT_FIELDS()
  };
  EXPECT_EQ(log_of(None()), "");
}

struct Base {
  int base = 1;
};
struct Derived : Base {
  explicit Derived(int n) : own(n) {}
  int own;
  WEFT_FIELDS(base, own)
};
struct Partial : Base {
  Variable hidden{1.f};
  int own = 2;
  WEFT_FIELDS(own, untracked(*this))
};

TEST(Fields, MayBeInheritedOrLeftOut) {
  EXPECT_EQ(log_of(Derived(5)), ".base(1).own(5)");
  EXPECT_EQ(log_of(Partial()), ".own(2)");
}

struct Layer {
  virtual ~Layer() = default;
  virtual int size() const = 0;
  WEFT_VIRTUAL_FIELDS()
};
struct Scale : Layer {
  Variable factor{1.f};
  int size() const override { return 1; }
  WEFT_FIELDS(factor)
};
struct Shift : Layer {
  Variable by{1.f};
  int size() const override { return 1; }
  WEFT_FIELDS(by)
};
struct Forgetful : Scale {
  Variable more{1.f};
};
struct Plain {  // polymorphic, but its list is not virtual
  virtual ~Plain() = default;
  int n = 1;
  WEFT_FIELDS(n)
};
struct Special : Plain {
  Variable hidden{1.f};
  WEFT_FIELDS(n, hidden)
};

TEST(Fields, OfDerivedObjectsAreFoundThroughBases) {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<Scale>());
  layers.push_back(std::make_unique<Shift>());
  EXPECT_EQ(paths_of(layers), "0.factor 1.by");
  layers.push_back(std::make_unique<Forgetful>());
  EXPECT_EQ(message<StateError>([&] { paths_of(layers); }),
            "walk: an object of class weft::(anonymous namespace)::Forgetful is walked as its base weft::(anonymous namespace)::Scale, "
            "which does not know its fields; give it a WEFT_FIELDS of its own, and the base whose pointers are walked "
            "WEFT_VIRTUAL_FIELDS.");
  std::unique_ptr<Plain> plain = std::make_unique<Plain>();
  EXPECT_EQ(paths_of(plain), "n");
  plain = std::make_unique<Special>();
  EXPECT_THROW(paths_of(plain), StateError);
}

}  // namespace
}  // namespace weft
