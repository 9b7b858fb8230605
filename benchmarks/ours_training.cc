// Steps of training.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>

#include "ours.h"
#include "ours_models.h"

namespace ours {
namespace {

// Steps of a plan, those that do the same in one line, the longest first.
std::string table(const std::vector<FunctionReport::Step>& steps) {
  struct Line {
    double microseconds = 0;
    int count = 0;
    std::string text;
  };
  std::map<std::string, Line> lines;
  double all = 0;
  for (const FunctionReport::Step& step : steps) {
    std::string text;
    for (const std::string& op : step.ops) text += (text.empty() ? "" : ", ") + op;
    text += " ->";
    for (const std::string& result : step.results) text += ' ' + result;
    Line& line = lines[text];
    line.text = text;
    line.microseconds += step.microseconds;
    line.count += 1;
    all += step.microseconds;
  }
  std::vector<Line> sorted;
  for (auto& [text, line] : lines) sorted.push_back(std::move(line));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Line& a, const Line& b) { return a.microseconds > b.microseconds; });
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << all << " us in " << steps.size() << " steps\n";
  for (const Line& line : sorted)
    out << std::setw(10) << line.microseconds << " us" << std::setw(6) << 100 * line.microseconds / all << " %" << std::setw(5)
        << line.count << " x  " << line.text << '\n';
  return out.str();
}

// A model and an optimizer. The first inputs are streams of batches, as many as Batch has members; a step is given the next of each.
template <class Model, class Rule, class... Batch>
class Training {
 public:
  template <class Options>
  Training(const Tensors& x, Options options, bool traced, FunctionOptions of_function)
      : Training(x, Values(x, sizeof...(Batch)), std::move(options), traced, std::move(of_function)) {}

  Tensor step() {
    const std::size_t i = done_++;
    return std::apply([&](const auto&... stream) {
      return traced_ ? function_(stream[i % stream.size()]...) : step_on(stream[i % stream.size()]...);
    }, streams_);
  }

  // The fastest of some calls for each step of the plan: what others do on the machine does not show.
  std::string profile() {
    std::vector<FunctionReport::Step> steps;
    for (int call = 0; call < 30; ++call) {
      function_.profile(1);
      step();
      const FunctionReport report = function_.explain();
      if (steps.empty()) steps = report.traces[0].steps;
      for (std::size_t i = 0; i < steps.size(); ++i)
        steps[i].microseconds = std::min(steps[i].microseconds, report.traces[0].steps[i].microseconds);
    }
    return table(steps);
  }

 private:
  template <class Options>
  Training(const Tensors& x, Values values, Options options, bool traced, FunctionOptions of_function)
      : model_(Model::make(values)), rule_(std::move(options)), traced_(traced),
        function_([this](Batch... batch) { return step_on(batch...); }, std::move(of_function)) {
    for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i] = unstack(x[i]);
  }
  Tensor step_on(const Batch&... batch) {
    GradientTape tape;
    const Tensor loss = model_.loss(batch...);
    rule_.apply(tape.gradient(loss, model_), model_);
    return loss;
  }

  Model model_;
  Rule rule_;
  std::array<Tensors, sizeof...(Batch)> streams_;
  std::size_t done_ = 0;
  const bool traced_;
  const Function<Tensor(Batch...)> function_;
};

template <class Model, class Rule, class... Batch, class Options>
Workload training(const Tensors& x, Options options, bool traced = true) {
  const auto begin = [=] { return std::make_shared<Training<Model, Rule, Batch...>>(x, options, traced, function_options()); };
  Workload workload;
  workload.run = [all = begin()](long count) {
    for (long i = 0; i < count; ++i) bench::keep(all->step());
  };
  workload.results = [=] {
    const auto fresh = begin();
    std::vector<float> losses;
    for (int i = 0; i < 20; ++i) losses.push_back(fresh->step().template item<float>());
    return std::vector<std::vector<float>>{losses};
  };
  workload.profile = [=] { return begin()->profile(); };
  return workload;
}

}  // namespace

// Steps of Adam on the first half of the inputs with the second half as their gradients. The result is that of the first step.
Workload adam_steps(const Tensors& x) {
  struct Steps {
    explicit Steps(const Tensors& inputs) {
      for (std::size_t i = 0; i < inputs.size() / 2; ++i) {
        variables.emplace_back(identity(inputs[i]));
        gradients.emplace_back(inputs[inputs.size() / 2 + i]);
      }
    }
    void step() { adam.apply(gradients, variables); }
    std::vector<Variable> variables;
    std::vector<Grad> gradients;
    Adam adam{{.learning_rate = 1e-3f}};
  };
  return {[steps = std::make_shared<Steps>(x)](long count) {
            for (long i = 0; i < count; ++i) steps->step();
          },
          [x] {
            Steps steps(x);
            steps.step();
            return results(Tensors(steps.variables.begin(), steps.variables.end()));
          }};
}

Op mlp(bool traced) {
  return [=](const Tensors& x) {
    return training<Mlp, Adam, Tensor, Tensor>(x, AdamOptions{.learning_rate = 1e-3f, .epsilon = 1e-7}, traced);
  };
}

Workload cnn(const Tensors& x) { return training<Cnn, SGD, Tensor, Tensor>(x, SGDOptions{.learning_rate = 0.01f, .momentum = 0.9}); }

Workload recommender(const Tensors& x) {
  return training<Recommender, Adagrad, Tensor, Tensor, Tensor>(x, AdagradOptions{.learning_rate = 0.01f});
}

Workload lstm(const Tensors& x) {
  return training<Lstm, Adam, Tensor, Tensor>(x, AdamOptions{.learning_rate = 1e-3f, .epsilon = 1e-8});
}

Workload gpt(const Tensors& x) {
  return training<Gpt, AdamW, Tensor, Tensor>(x, AdamWOptions{.learning_rate = 1e-3f, .epsilon = 1e-8, .weight_decay = 0.01});
}

}  // namespace ours
