#include <weft/tree.h>

#include <gtest/gtest.h>

#include <thread>

#include "tests/support.h"
#include <weft/ops.h>
#include <weft/print.h>
#include <weft/transaction.h>

namespace weft {
namespace {

using test::message;

struct Dense {
  Variable weight, bias;
  Dense(int in, int out) : weight{zeros({in, out})}, bias{zeros({out})} {}
  WEFT_FIELDS(weight, bias)
};
struct Hyper {
  Variable lr_param{0.01f, {.name = "lr", .trainable = false}};
  int epochs = 3;
};
struct Net {
  Hyper hparams;
  std::vector<Dense> layers = {Dense(2, 3), Dense(3, 3), Dense(3, 1)};
  std::map<std::string, Variable> extra = {};
  std::optional<Variable> scale = {};
};

template <class Map>
std::string paths_of(const Map& map) {
  std::string paths;
  for (const auto& [path, value] : map) paths += (paths.empty() ? "" : " ") + std::string(path);
  return paths;
}

TEST(Tree, NamesVariablesByTheirPaths) {
  Net net;
  net.extra.emplace("decay", Variable{0.9});
  net.scale.emplace(Variable{2.f});
  EXPECT_EQ(paths_of(named_variables(net)),
            "hparams.lr_param layers.0.weight layers.0.bias layers.1.weight layers.1.bias layers.2.weight layers.2.bias extra.decay scale");
  EXPECT_EQ(paths_of(named_variables(net, Which::kTrainable)),
            "layers.0.weight layers.0.bias layers.1.weight layers.1.bias layers.2.weight layers.2.bias extra.decay scale");
  const NamedVariables named = named_variables(net);
  EXPECT_TRUE(named.at("layers.2.bias").same_slot(net.layers[2].bias));
  named.at("hparams.lr_param").assign(0.1f);
  EXPECT_EQ(net.hparams.lr_param.value().item<float>(), 0.1f);
}

TEST(Tree, ListsVariables) {
  const Net net;
  const std::vector<Variable> all = variables(net), trainable = trainable_variables(net);
  ASSERT_EQ(all.size(), 7u);
  ASSERT_EQ(trainable.size(), 6u);
  EXPECT_TRUE(all[0].same_slot(net.hparams.lr_param));
  EXPECT_TRUE(trainable[0].same_slot(net.layers[0].weight));
  EXPECT_TRUE(trainable[5].same_slot(net.layers[2].bias));
}

TEST(Tree, MayBeAnythingThatIsWalked) {
  Variable a{1.f}, b{2.f};
  EXPECT_EQ(paths_of(named_variables(a)), "");
  EXPECT_EQ(variables(a).size(), 1u);
  EXPECT_EQ(variables(std::tie(a, b)).size(), 2u);
  EXPECT_EQ(variables(std::vector{a, b, a}).size(), 2u);
  EXPECT_EQ(variables(std::array<Tensor, 1>{}).size(), 0u);
  EXPECT_EQ(variables(3).size(), 0u);
  int leaves = 0;
  visit(std::vector{a, b}, [&](std::string_view path, const TreeLeaf& leaf) {
    EXPECT_EQ(path, std::to_string(leaves++));
    leaf.as<Variable>()->assign(5.f);
  });
  EXPECT_EQ(leaves, 2);
  EXPECT_EQ(b.value().item<float>(), 5.f);
}

TEST(Tree, CountsSharedVariablesOnceUnderTheirFirstPath) {
  struct Tied {
    Variable embedding{1.f};
    Variable output;
    Variable* pointer = nullptr;
    std::shared_ptr<Dense> dense = std::make_shared<Dense>(1, 1);
    std::shared_ptr<Dense> again = dense;
  };
  Variable shared{2.f};
  Tied tied{shared, shared};
  tied.pointer = &tied.output;
  EXPECT_EQ(paths_of(named_variables(tied)), "embedding dense.weight dense.bias");
  EXPECT_EQ(variables(tied).size(), 3u);
  EXPECT_TRUE(named_variables(tied)[tied.output].same_slot(shared));
}

TEST(Tree, FindsManyVariables) {
  std::vector<Variable> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back(i);
  const NamedVariables named = named_variables(many);
  ASSERT_EQ(named.size(), 1000u);
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_TRUE(named[many[i]].same_slot(many[i]));
    EXPECT_TRUE(named.contains(many[i]));
    EXPECT_TRUE(named.at(std::to_string(i)).same_slot(many[i]));
  }
  EXPECT_FALSE(named.contains(Variable{1}));
}

TEST(Tree, RefusesVariablesThatWereMovedFrom) {
  Net net;
  const Variable taken = std::move(net.layers[0].bias);
  EXPECT_THROW(variables(net), StateError);
}

// --- snapshots and gradients ---

TEST(Snapshot, HoldsTheValuesOfOneMoment) {
  Net net;
  const Snapshot before = snapshot(net);
  EXPECT_EQ(before.size(), 7u);
  net.hparams.lr_param.assign(0.5f);
  net.layers.clear();
  EXPECT_EQ(before[net.hparams.lr_param].item<float>(), 0.01f);
  EXPECT_EQ(before.at("layers.1.weight").spec().str(), "f32[3,3]");
  EXPECT_TRUE(before.contains("layers.1.weight"));
  EXPECT_FALSE(before.contains("layers.3.weight"));
  EXPECT_EQ(snapshot(net).size(), 1u);
  std::int64_t elements = 0;
  for (auto [path, value] : before) elements += value.size();
  EXPECT_EQ(elements, 1 + 6 + 3 + 9 + 3 + 3 + 1);
}

TEST(Snapshot, NamesWhatIsNotThere) {
  Net net;
  const Snapshot now = snapshot(net);
  EXPECT_EQ(message<ValueError>([&] { now.at("layers.1.wieght"); }),
            "snapshot: there is no entry \"layers.1.wieght\"; there are \"hparams.lr_param\", \"layers.0.weight\", \"layers.0.bias\", "
            "\"layers.1.weight\", \"layers.1.bias\", \"layers.2.weight\", \"layers.2.bias\".");
  EXPECT_EQ(message<ValueError>([&] { now[Variable(1.f, {.name = "stranger"})]; }),
            "snapshot: Variable \"stranger\" is not among the 7 Variables here; ask with contains, or take a tree that holds it.");
  EXPECT_EQ(message<ValueError>([&] { Snapshot().at("x"); }), "snapshot: there is no entry \"x\"; there are none at all.");
  std::vector<Variable> many;
  for (int i = 0; i < 10; ++i) many.emplace_back(i);
  EXPECT_EQ(message<ValueError>([&] { snapshot(many).at("x"); }),
            "snapshot: there is no entry \"x\"; there are \"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\" and 2 more.");
}

TEST(Snapshot, SeesTheBlockItIsTakenIn) {
  Net net;
  atomically([&] {
    net.hparams.lr_param.assign(0.5f);
    EXPECT_EQ(snapshot(net).at("hparams.lr_param").item<float>(), 0.5f);
    std::thread([&] { EXPECT_EQ(snapshot(net).at("hparams.lr_param").item<float>(), 0.01f); }).join();
  });
}

TEST(Snapshot, ShowsAllOfATransactionOrNothing) {
  struct Pair {
    Variable a{0}, b{0};
  } pair;
  std::thread writer([&] {
    for (int i = 1; i <= 2000; ++i) {
      atomically([&] {
        pair.a.assign(i);
        pair.b.assign(-i);
      });
    }
  });
  int last = 0;
  while (last < 2000) {
    const Snapshot now = snapshot(pair);
    const int a = now[pair.a].item<int>();
    EXPECT_EQ(now[pair.b].item<int>(), -a);
    EXPECT_GE(a, last);
    last = a;
  }
  writer.join();
}

TEST(Gradients, AreFoundByVariableAndPath) {
  Net net;
  const NamedVariables sources = named_variables(net, Which::kTrainable);
  std::vector<Grad> list(sources.size());
  list[0] = Grad(zeros({2, 3}));
  list[1] = Grad(IndexedSlices{ones({1}), Tensor{0}, zeros({3})});
  Gradients grads = sources.with(list);
  ASSERT_EQ(grads.size(), 6u);
  EXPECT_EQ(grads[net.layers[0].weight].dense().spec().str(), "f32[2,3]");
  EXPECT_TRUE(grads.at("layers.0.bias").sparse());
  EXPECT_FALSE(grads[net.layers[1].bias].present());
  EXPECT_TRUE(grads.contains(net.layers[1].bias));
  EXPECT_FALSE(grads.contains(net.hparams.lr_param));
  EXPECT_FALSE(grads.contains("hparams.lr_param"));
  int present = 0;
  for (auto [path, grad] : grads) present += grad.present();
  EXPECT_EQ(present, 2);
  for (Grad& grad : grads.values()) grad = Grad(ones({1}));
  EXPECT_TRUE(grads.at("layers.2.bias").present());
  EXPECT_EQ(message<ValueError>([&] { grads[net.hparams.lr_param]; }),
            "gradients: Variable \"lr\" is not among the 6 Variables here; ask with contains, or take a tree that holds it.");
  EXPECT_EQ(message<ValueError>([&] { sources.with(std::vector<Grad>(5)); }),
            "gradients: 5 values cannot stand for 6 Variables; give one for each.");
}

// --- restoring ---

TEST(Restore, PutsAllValuesBackAtOnce) {
  Net net, other;
  const Snapshot before = snapshot(net);
  net.hparams.lr_param.assign(3.f), net.layers[0].bias.assign({1.f, 2.f, 3.f});
  const std::uint64_t version = net.layers[0].bias.version();
  restore(net, before);
  EXPECT_EQ(test::number(net.hparams.lr_param), 0.01f);
  EXPECT_EQ(test::floats(net.layers[0].bias), std::vector<float>(3, 0));
  EXPECT_EQ(net.layers[0].bias.version(), version + 1);
  EXPECT_STREQ(net.layers[0].bias.history().back().by, "restore");
  net.layers[0].bias.assign({1.f, 2.f, 3.f});
  restore(other, snapshot(net));
  EXPECT_EQ(test::floats(other.layers[0].bias), (std::vector<float>{1, 2, 3})) << "another tree with the same paths";
  try {
    atomically([&] {
      restore(net, before);
      EXPECT_EQ(test::floats(net.layers[0].bias), std::vector<float>(3, 0));
      throw 1;
    });
  } catch (int) {
  }
  EXPECT_EQ(test::floats(net.layers[0].bias), (std::vector<float>{1, 2, 3})) << "part of the block";
}

TEST(Restore, NamesEverythingThatDoesNotFit) {
  Net net, other;
  other.extra.emplace("history", Variable{zeros({2})});
  other.layers[2] = Dense(3, 2);
  net.scale.emplace(1.f);
  const std::uint64_t version = net.hparams.lr_param.version();
  EXPECT_EQ(message<StateError>([&] { restore(net, snapshot(other)); }),
            "restore: layers.2.weight is f32[3,1] and was f32[3,2], layers.2.bias is f32[1] and was f32[2], the snapshot has no scale, the tree has no "
            "extra.history; give a snapshot of a tree like this one.");
  EXPECT_EQ(net.hparams.lr_param.version(), version) << "nothing has changed";
}

// --- summaries ---

TEST(Summary, PrintsATable) {
  Net net;
  net.layers.erase(net.layers.begin() + 1, net.layers.end());
  net.extra.emplace("history", Variable{zeros({2, 5}, {.dtype = f64}), {.shape = Shape{kUnknown, 5}}});
  const TreeSummary table = summary(net);
  EXPECT_EQ(format("{}", table),
            "path              spec         trainable    bytes\n"
            "hparams.lr_param  f32[]        no               4\n"
            "layers.0.weight   f32[2,3]     yes             24\n"
            "layers.0.bias     f32[3]       yes             12\n"
            "extra.history     f64[?,5]     yes             80\n"
            "total             20 elements  19 elements    120");
  EXPECT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[3].elements, 10);
  EXPECT_EQ(table.elements, 20);
  EXPECT_EQ(summary(Hyper{}).bytes, 4);
  EXPECT_EQ(summary(3).str(),
            "path   spec        trainable   bytes\n"
            "total  0 elements  0 elements      0");
}

}  // namespace
}  // namespace weft
