// How digits are written: for each of them four hands, each a list of strokes of a pen.
#pragma once

#include <vector>

constexpr int kHands = 4;    // for each digit
constexpr int kPoints = 64;  // that stand for the line of a digit

/// A point of a line. The digit fills the square from (0, 0), top left, to (1, 1).
struct PenPoint {
  float x = 0, y = 0;
  float length = 0;  // of the line around it
};

/// The digit in this hand as kPoints points, evenly along its lines. REQUIRES: digit from 0 to 9, hand from 0 to kHands - 1.
std::vector<PenPoint> pen_points(int digit, int hand);
