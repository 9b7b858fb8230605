// A second thread that evaluates snapshots of a net while it is trained.
#pragma once

#include <chrono>
#include <thread>

#include "page.h"
#include "train.h"

class Evaluator {
 public:
  /// Looks at the net after each `every` steps, and once more at the end. Shares its Variables, and makes training wait for nothing.
  Evaluator(const Training<Net>& training, const Digits& test, int every)
      : live_{training.model, training.adam.iterations}, test_(test), every_(every), thread_([this](std::stop_token stop) { run(stop); }) {}

  /// The accuracy that was found last; 0 before the first one.
  double latest() const { return latest_.value().item<double>(); }
  /// Ends the thread; all that it has found.
  std::vector<Results::Seen> finish() {
    thread_.request_stop();
    thread_.join();
    return seen_;
  }

 private:
  struct Live {
    Net net;
    Variable steps;
  };

  void run(std::stop_token stop) {
    Generator unused{0};
    Live copy{make_net(unused), live_.steps.clone()};
    for (std::int64_t next = every_, last = -1;;) {
      const bool ending = stop.stop_requested();
      const std::int64_t now = live_.steps.read_latest().item<std::int64_t>();
      if (ending && now == last) return;
      if (!ending && now < next) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        continue;
      }
      const Snapshot moment = snapshot(live_);  // of all Variables between two steps, while another thread changes them
      for (auto [path, variable] : named_variables(copy)) variable.assign(moment.at(path));
      last = copy.steps.value().item<std::int64_t>();
      latest_.assign(accuracy(predict_, copy.net, test_));
      seen_.push_back({static_cast<int>(last), latest()});
      next = last / every_ * every_ + every_;
    }
  }

  const Live live_;
  const Digits test_;
  const std::int64_t every_;
  Predict<Net> predict_ = prediction<Net>();
  Variable latest_{0.f};
  std::vector<Results::Seen> seen_;  // of the thread, until it has ended
  std::jthread thread_;              // the last member: it uses the others
};
