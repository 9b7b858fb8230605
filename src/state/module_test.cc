// Plain structs as modules: which Variables they have, and in which order.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "tests/support.h"
#include <weft/weft.h>

namespace weft {
namespace {

using test::number;
using Paths = std::vector<std::string>;

template <class T>
Paths paths_of(const T& tree, Which which = Which::kAll) {
  Paths result;
  for (const auto& [path, variable] : named_variables(tree, which)) result.emplace_back(path);
  return result;
}

struct Norm {
  Variable scale{1.f};
  Variable mean{0.f, {.trainable = false}};
};
struct Block {
  Variable weight{2.f};
  Norm norm;
  Variable bias{3.f};
};
struct Net {
  Block first;
  Variable temperature{4.f};
  Norm last;
};

// SEMANTICS 170: as declared, where TensorFlow sorts by name and comes to nested modules last.
TEST(Module, VariablesComeInTheOrderOfTheFields) {
  const Net net;
  EXPECT_EQ(paths_of(net), (Paths{"first.weight", "first.norm.scale", "first.norm.mean", "first.bias", "temperature", "last.scale", "last.mean"}));
  std::vector<float> values;
  for (const Variable& v : variables(net)) values.push_back(number(v));
  EXPECT_EQ(values, (std::vector<float>{2, 1, 0, 3, 4, 1, 0}));
  EXPECT_TRUE(variables(net)[4].same_slot(net.temperature));
}

// SEMANTICS 171
TEST(Module, TrainableVariablesAlone) {
  const Net net;
  EXPECT_EQ(paths_of(net, Which::kTrainable), (Paths{"first.weight", "first.norm.scale", "first.bias", "temperature", "last.scale"}));
  ASSERT_EQ(trainable_variables(net).size(), 5u);
  for (const Variable& v : trainable_variables(net)) EXPECT_TRUE(v.trainable());
}

// SEMANTICS 172
// PAIN 24
TEST(Module, ContainersAreLookedInto) {
  struct Holder {
    std::vector<Norm> vector{2};
    std::array<Variable, 2> array{Variable{1.f}, Variable{2.f}};
    std::map<std::string, Variable> map;
    std::unordered_map<std::string, Norm> unordered;
    std::tuple<Variable, int, Norm> tuple;
    std::pair<Variable, float> pair{Variable{5.f}, 6.f};
    std::optional<Variable> full, empty;
    std::unique_ptr<Norm> owned = std::make_unique<Norm>();
    std::shared_ptr<Norm> nothing;
    std::vector<std::map<int, Variable>> deep;
  };
  Holder holder{.map = {}, .unordered = {}, .tuple = {Variable{3.f}, 4, Norm{}}, .full = {}, .empty = {}, .nothing = {}, .deep = {}};
  holder.map.emplace("b", Variable{1.f});
  holder.map.emplace("a", Variable{2.f});
  holder.unordered.emplace("z", Norm{});
  holder.unordered.emplace("y", Norm{});
  holder.full.emplace(7.f);
  holder.deep.resize(1);
  holder.deep[0].emplace(12, Variable{8.f});
  EXPECT_EQ(paths_of(holder),
            (Paths{"vector.0.scale", "vector.0.mean", "vector.1.scale", "vector.1.mean", "array.0", "array.1", "map.a", "map.b",
                   "unordered.y.scale", "unordered.y.mean", "unordered.z.scale", "unordered.z.mean", "tuple.0", "tuple.2.scale",
                   "tuple.2.mean", "pair.first", "full", "owned.scale", "owned.mean", "deep.0.12"}));
}

struct Link {
  Variable value{1.f};
  std::shared_ptr<Link> next = {};
  Link* back = nullptr;
};

// SEMANTICS 173
TEST(Module, WaysThatLeadBackEnd) {
  Link first;
  first.next = std::make_shared<Link>();
  first.next->back = &first;
  first.next->next = std::make_shared<Link>();
  first.next->next->next = first.next;  // round and round
  EXPECT_EQ(paths_of(first), (Paths{"value", "next.value", "next.next.value"}));
  GradientTape tape;
  const Tensor y = first.value * first.next->value * 5;
  EXPECT_EQ(number(tape.gradient(y, first).at("next.value").dense()), 5.f);
  first.next->next->next.reset();  // so that it can be freed
}

// SEMANTICS 174
// PAIN 24
TEST(Module, WhatIsAddedLaterIsThere) {
  struct Growing {
    std::vector<Norm> layers;
    std::map<std::string, Variable> heads;
    std::optional<Variable> scale;
    std::shared_ptr<Norm> norm;
  } net;
  EXPECT_TRUE(variables(net).empty());
  net.layers.emplace_back();
  net.heads.emplace("left", Variable{1.f});
  net.scale.emplace(2.f);
  net.norm = std::make_shared<Norm>();
  EXPECT_EQ(paths_of(net), (Paths{"layers.0.scale", "layers.0.mean", "heads.left", "scale", "norm.scale", "norm.mean"}));
  net.layers.clear();
  net.scale.reset();
  EXPECT_EQ(paths_of(net), (Paths{"heads.left", "norm.scale", "norm.mean"}));
}

}  // namespace
}  // namespace weft
