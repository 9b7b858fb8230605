// A progress line in the style of Keras, on standard error: a bar that is drawn again and again on a terminal, whole lines in a log.
//
//   Epoch 3/10
//   157/200 ━━━━━━━━━━━━━━━━━━━━ 2s 11ms/step - accuracy: 0.9712 - loss: 0.0931
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

class Progress {
 public:
  using Metrics = std::vector<std::pair<std::string, double>>;

  explicit Progress(int epochs);
  void begin_epoch(int epoch, int steps);            ///< epochs count from 1
  void step(int done, const Metrics& metrics);       ///< `done` steps of this epoch
  /// A line of its own; the bar goes on below it. Thread safety: none of this class; one thread shows progress.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(int done, const Metrics& metrics);

  const bool terminal_;
  const int epochs_;
  int epoch_ = 0, steps_ = 0;
  bool bar_is_there_ = false;
  Clock::time_point begin_, after_first_, drawn_;
};
