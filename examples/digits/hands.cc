#include "hands.h"

#include <cmath>
#include <sstream>
#include <string>

namespace {

// Strokes of smooth curves through points, in hundredths of the square; where the pen turns sharply or leaves the paper, a `|`.
constexpr const char* kStrokes[10][kHands] = {
    {"50,4 22,16 12,50 22,84 50,96 78,84 88,50 78,16 50,4",
     "66,8 40,4 20,24 16,56 28,88 52,95 76,84 84,52 76,20 58,6 44,16",
     "50,4 32,20 28,50 32,80 50,96 68,80 72,50 68,20 50,4",
     "50,4 22,16 14,50 22,84 50,96 78,84 86,50 78,16 50,4 | 74,20 26,82"},
    {"50,4 50,96",
     "30,24 54,4 | 54,4 54,96",
     "30,24 54,4 | 54,4 54,96 | 28,96 80,96",
     "26,34 46,20 58,4 | 58,4 50,96"},
    {"16,26 30,8 54,4 78,16 80,38 60,62 14,95 | 14,95 88,95",
     "18,24 34,6 60,5 78,24 68,52 40,78 20,92 12,84 24,76 46,88 66,95 88,88",
     "20,20 48,4 76,16 76,40 50,64 16,94 | 16,94 50,90 86,96",
     "16,8 50,5 80,10 | 80,10 14,94 | 14,94 88,94"},
    {"18,14 44,4 74,12 78,30 62,44 40,48 | 40,48 70,54 84,74 70,92 42,97 14,86",
     "16,6 82,6 | 82,6 46,40 | 46,40 74,48 84,70 70,92 40,96 14,86",
     "20,10 56,4 78,20 66,42 44,47 72,54 82,76 62,95 34,95 14,84",
     "20,6 60,4 76,22 48,44 | 48,44 76,52 78,78 54,97 18,90"},
    {"32,4 14,58 | 14,58 88,58 | 64,30 64,97",
     "62,4 10,66 | 10,66 90,66 | 62,4 62,97",
     "24,6 22,40 34,54 66,52 | 74,6 70,97",
     "50,4 16,62 | 16,62 90,56 | 70,36 58,97"},
    {"80,5 26,5 | 26,5 20,44 | 20,44 50,36 80,50 82,76 58,96 16,88",
     "84,4 30,6 | 30,6 24,42 50,38 78,52 78,80 50,96 18,86",
     "80,8 44,6 24,22 34,42 64,50 80,70 66,92 40,96 16,86",
     "34,6 28,46 | 28,46 64,42 80,66 64,92 24,96 | 34,6 80,10"},
    {"70,4 36,28 16,64 30,92 58,96 80,78 72,56 46,50 20,66",
     "60,4 28,30 18,66 34,94 64,94 80,74 66,54 40,54 22,72",
     "78,12 50,4 24,28 16,62 32,92 60,96 82,76 66,54 38,52 18,66",
     "56,4 30,50 22,74 36,95 60,94 74,76 62,60 40,62 24,76"},
    {"12,6 86,6 | 86,6 38,96",
     "12,6 86,6 | 86,6 38,96 | 30,50 78,50",
     "14,20 16,6 | 16,6 86,8 | 86,8 58,44 44,96",
     "16,12 40,4 84,8 | 84,8 62,40 50,70 48,97"},
    {"50,48 24,34 28,10 50,4 72,10 76,34 50,48 20,66 22,90 50,96 78,90 80,66 50,48",
     "78,14 50,4 24,18 34,40 62,54 80,76 60,95 32,93 20,74 38,52 66,38 78,14",
     "50,4 28,14 30,38 50,46 70,38 72,14 50,4 | 50,46 20,60 20,88 50,97 80,88 80,60 50,46",
     "50,46 34,32 36,10 52,4 66,12 64,32 50,46 32,64 32,88 50,96 68,88 68,64 50,46"},
    {"78,30 60,48 34,46 20,26 36,6 62,5 78,24 | 78,24 76,60 66,97",
     "80,26 58,50 28,44 20,20 44,4 70,8 80,26 78,64 58,92 26,94",
     "76,10 46,4 22,22 34,46 62,44 78,22 | 78,10 74,97",
     "74,20 56,6 32,12 26,34 46,48 70,38 74,20 70,60 64,97"},
};

using Stroke = std::vector<PenPoint>;

std::vector<Stroke> parse(const char* text) {
  std::vector<Stroke> strokes(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t comma = word.find(',');
    if (comma == std::string::npos) strokes.emplace_back();
    else strokes.back().push_back({std::stof(word) / 100, std::stof(word.substr(comma + 1)) / 100});
  }
  return strokes;
}

/// The curve of Catmull and Rom through the points: at 0 the first, at 1 the second, and so on.
PenPoint on_curve(const Stroke& points, float at) {
  const int last = static_cast<int>(points.size()) - 1, i = std::min(static_cast<int>(at), last - 1);
  const float t = at - i;
  const auto along = [&](float PenPoint::*axis) {
    const float a = points[std::max(i - 1, 0)].*axis, b = points[i].*axis, c = points[i + 1].*axis, d = points[std::min(i + 2, last)].*axis;
    return b + t / 2 * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  };
  return {along(&PenPoint::x), along(&PenPoint::y)};
}

}  // namespace

std::vector<PenPoint> pen_points(int digit, int hand) {
  constexpr int kFine = 32;  // straight pieces between two points
  std::vector<PenPoint> pieces;  // their middles, one stroke after the other
  float whole = 0;
  for (const Stroke& stroke : parse(kStrokes[digit][hand])) {
    for (std::size_t i = 0; i < (stroke.size() - 1) * kFine; ++i) {
      const PenPoint from = on_curve(stroke, i / float{kFine}), to = on_curve(stroke, (i + 1) / float{kFine});
      pieces.push_back({(from.x + to.x) / 2, (from.y + to.y) / 2, std::hypot(to.x - from.x, to.y - from.y)});
      whole += pieces.back().length;
    }
  }
  std::vector<PenPoint> points;
  float passed = 0;
  for (const PenPoint& piece : pieces) {
    passed += piece.length;
    const float next = (points.size() + 0.5f) * whole / kPoints;
    if (points.size() < kPoints && passed >= next) points.push_back({piece.x, piece.y, whole / kPoints});
  }
  points.resize(kPoints, points.back());  // rounding may have kept one back
  return points;
}
