#include "curve.h"

#include <algorithm>
#include <cmath>

using namespace weft;

namespace {

constexpr double kWidth = 1000, kHeight = 340, kLeft = 52, kRight = 62, kTop = 26, kBottom = 36;

/// Where values lie in the picture. Loss is shown by its logarithm.
struct Scale {
  double steps, low, high;  // the powers of ten that the loss lies between
  double worst;             // accuracy at the bottom; at the top it is 1

  double x(double step) const { return kLeft + (kWidth - kLeft - kRight) * step / std::max(steps, 1.0); }
  double up(double share) const { return kHeight - kBottom - (kHeight - kTop - kBottom) * std::clamp(share, 0.0, 1.0); }
  double loss(double value) const { return up((std::log10(std::max(value, 1e-9)) - low) / (high - low)); }
  double accuracy(double value) const { return up((value - worst) / (1 - worst)); }
};

std::string text(double x, double y, std::string_view anchor, std::string_view colour, const std::string& words) {
  return format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor, colour, words);
}

std::string line(double x1, double y1, double x2, double y2, std::string_view how) {
  return format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, how);
}

std::string grid(const Scale& at) {
  std::string out;
  const double right = kWidth - kRight;
  for (int power = static_cast<int>(at.low); power <= at.high; ++power) {
    const double y = at.loss(std::pow(10.0, power));
    out += line(kLeft, y, right, y, "stroke=\"#e4e2db\"");
    out += text(kLeft - 8, y + 4, "end", "#2b5fd9", power < 0 ? "0." + std::string(-power - 1, '0') + "1" : "1" + std::string(power, '0'));
  }
  for (int i = 0; i <= 4; ++i) {
    const double value = at.worst + (1 - at.worst) * i / 4;
    out += text(right + 8, at.accuracy(value) + 4, "start", "#1d8a5b", format("{:.1f} %", value * 100));
  }
  for (int i = 0; i < 5; ++i) out += text(at.x(at.steps * i / 5), kHeight - 14, "middle", "#6d7487", format("{:.0f}", at.steps * i / 5));
  out += text(right, kHeight - 14, "end", "#6d7487", format("{:.0f} steps", at.steps));
  out += text(kLeft - 8, 14, "start", "#2b5fd9", "loss");
  return out + text(right + 8, 14, "start", "#1d8a5b", "accuracy");
}

std::string path(const std::vector<std::pair<double, double>>& points, std::string_view how) {
  std::string out = "<path fill=\"none\" d=\"";
  for (std::size_t i = 0; i < points.size(); ++i) out += format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", points[i].first, points[i].second);
  return out + "\" " + std::string(how) + "/>\n";
}

}  // namespace

std::string learning_curve(const Results& results) {
  if (results.losses.empty()) return "<svg viewBox=\"0 0 10 1\"></svg>";
  const auto [least, most] = std::minmax_element(results.losses.begin(), results.losses.end());
  Scale at{static_cast<double>(results.losses.size()), std::floor(std::log10(std::max(*least, 1e-4f))), std::ceil(std::log10(std::max(*most, 1e-3f))), 0.9};
  for (const Results::Seen& seen : results.snapshots) {
    if (seen.step > at.steps / 10) at.worst = std::min(at.worst, std::floor(seen.accuracy * 10) / 10);
  }

  std::vector<std::pair<double, double>> raw, smooth, found;
  double mean = results.losses[0];
  for (std::size_t i = 0; i < results.losses.size(); ++i) {
    mean += (results.losses[i] - mean) * 0.05;
    raw.emplace_back(at.x(i + 1.0), at.loss(results.losses[i])), smooth.emplace_back(at.x(i + 1.0), at.loss(mean));
  }
  for (const Results::Seen& seen : results.snapshots) found.emplace_back(at.x(seen.step), at.accuracy(seen.accuracy));

  std::string out = format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Loss and accuracy by step\">\n", kWidth, kHeight) + grid(at);
  out += path(raw, "stroke=\"#2b5fd9\" stroke-width=\"0.7\" opacity=\"0.3\"");
  out += path(smooth, "stroke=\"#2b5fd9\" stroke-width=\"2.2\" stroke-linejoin=\"round\"");
  out += path(found, "stroke=\"#1d8a5b\" stroke-width=\"1.6\"");
  for (const auto& [x, y] : found) out += format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#fff\" stroke=\"#1d8a5b\" stroke-width=\"2\"/>\n", x, y);
  if (results.failed_step >= 0) {
    const double x = at.x(results.failed_step);
    out += line(x, kTop, x, kHeight - kBottom, "stroke=\"#d2382c\" stroke-dasharray=\"4 4\"");
    out += text(x, 14, "middle", "#d2382c", "a step is made to fail: nothing has changed");
  }
  return out + "</svg>\n";
}
