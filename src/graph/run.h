// Running a graph.
#pragma once

#include <mutex>

#include "graph/plan.h"

namespace weft::inline v0 {

struct Derived;  // graph/region.h

/// A graph that is ready to run. Plans are made when shapes come for the first time, and so many kept. Any number of threads may run it.
class Runner {
 public:
  static constexpr std::size_t kMostPlans = 16;  // as FunctionOptions says, if it says nothing else (function_plans_test)
  explicit Runner(Graph graph, std::vector<std::int32_t> old_values = {}, std::size_t most_plans = kMostPlans);

  const Graph& graph() const { return graph_; }
  /// The outputs for these inputs, one handle each. The calls go to the top of the interpreter stack, so a tape records them and a tracer
  /// takes them over. The inputs end here: they may be moved from and, if nobody else holds them, computed upon. An error is that of the call that
  /// failed, with the line it was traced at. REQUIRES: as many inputs as the graph has, of its Specs.
  /// `publish` is as for Plan::run; with it, REQUIRES: publishes(), no interpreter is installed.
  Tensors run(std::span<Tensor> inputs, const Publish* publish = nullptr) const;

  /// Whether some old values can be changed where they lie, if `run` is given a way to publish.
  bool publishes() const { return publishes_; }

  /// The plan for inputs of these Specs, all known.
  std::shared_ptr<const Plan> plan_for(std::span<const Spec> inputs) const;
  /// How its gradient is computed, for those who have derived it before.
  std::shared_ptr<const Derived> find_derived(const std::vector<bool>& wanted) const;
  void keep_derived(const std::vector<bool>& wanted, std::shared_ptr<const Derived> made) const;

  /// What is known of the plan that was used last.
  struct Profile {
    std::shared_ptr<const Plan> plan;     // null: there is none
    std::uint64_t calls = 0;              // that were timed
    std::vector<double> totals;           // of each step, in microseconds; empty if no call was timed
    std::vector<StepTime> last;           // the last of those calls
  };
  Profile profile() const;
  /// The next `calls` calls are timed, and the times so far are forgotten.
  void profile(int calls);

 private:
  static constexpr std::size_t kMostDerived = 8;
  struct Planned {
    std::vector<Spec> inputs;
    std::shared_ptr<const Plan> plan;
    std::uint64_t timed = 0;
    std::vector<double> totals{};
    std::vector<StepTime> last{};
  };
  template <class Inputs>
  std::shared_ptr<const Plan> find_plan(const Inputs& inputs) const;
  Tensors run_timed(std::span<Tensor> inputs, const Publish* publish) const;
  Tensors replay(std::span<Tensor> inputs) const;

  Graph graph_;
  const std::vector<std::int32_t> old_values_;
  const std::size_t most_plans_;
  const bool publishes_;
  bool fixed_;  // all sizes are known, so one plan serves all calls
  mutable std::mutex mutex_;
  mutable std::vector<Planned> plans_;  // the last one was used last
  mutable std::vector<std::pair<std::vector<bool>, std::shared_ptr<const Derived>>> derived_;  // as plans_
  mutable std::atomic<int> to_time_{0};  // calls
  mutable std::atomic<const Plan*> only_{nullptr};  // of a fixed graph, once it is there
  std::vector<bool> last_use_;  // for each input of each node, in order: nothing later needs the value
};

}  // namespace weft::inline v0
