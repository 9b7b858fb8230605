#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <weft/print.h>

using namespace weft;

namespace {

double seconds(std::chrono::steady_clock::duration passed) { return std::chrono::duration<double>(passed).count(); }

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string metric(const std::pair<std::string, double>& named) {
  const bool tiny = named.second != 0 && named.second < 1e-3;
  return " - " + named.first + ": " + (tiny ? format("{:.4e}", named.second) : format("{:.4f}", named.second));
}

}  // namespace

Progress::Progress(int epochs) : terminal_(isatty(STDERR_FILENO) != 0), epochs_(epochs) {}

void Progress::begin_epoch(int epoch, int steps) {
  epoch_ = epoch, steps_ = steps;
  begin_ = after_first_ = drawn_ = Clock::now();
  if (terminal_) write(format("Epoch {}/{}\n", epoch, epochs_));
}

void Progress::step(int done, const Metrics& metrics) {
  const Clock::time_point now = Clock::now();
  if (done == 1) after_first_ = now;  // the first step of all is traced, which says nothing about the others
  const double pause = terminal_ ? 0.05 : 10;
  if (done < steps_ && seconds(now - drawn_) < pause) return;
  drawn_ = now;
  draw(done, metrics);
}

void Progress::draw(int done, const Metrics& metrics) {
  const double each = done > 1 ? seconds(drawn_ - after_first_) / (done - 1) : seconds(drawn_ - begin_);
  const bool ended = done == steps_;
  const std::string time = (ended ? format("{:.0f}s", seconds(drawn_ - begin_)) : format("ETA {:.0f}s", each * (steps_ - done))) +
                           format(" {:.0f}ms/step", each * 1000);
  const std::string total = format("{}", steps_);
  std::string count = format("{}", done);
  count.insert(0, total.size() - count.size(), ' ');
  count += "/" + total;
  if (!terminal_) {
    std::string line = format("Epoch {}/{} - {} - {}", epoch_, epochs_, count, time);
    for (const auto& named : metrics) line += metric(named);
    write(line + "\n");
    return;
  }
  // What does not fit into the line is left out: a line that is wrapped cannot be drawn over.
  constexpr int kWidth = 20;
  const int full = kWidth * done / std::max(steps_, 1);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < full ? "━" : "╌";
  std::size_t columns = count.size() + kWidth + time.size() + 2;
  std::string line = count + " " + bar + " " + time;
  for (const auto& named : metrics) {
    const std::string text = metric(named);
    if (columns + text.size() >= terminal_columns()) break;
    line += text, columns += text.size();
  }
  write("\r" + line + "\x1b[K" + (ended ? "\n" : ""));
  bar_is_there_ = !ended;
}

void Progress::say(const std::string& line) {
  write((bar_is_there_ ? "\r\x1b[K" : "") + line + "\n");
  bar_is_there_ = false;
}
