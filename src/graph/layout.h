// Where the boxes of a drawing lie: layers from top to bottom, few crossings, short lines. What reads from nothing lies above its first
// reader.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::inline v0 {

struct LayoutBox {
  double width, height;
};
struct LayoutEdge {
  std::uint32_t from, to;  // boxes
};
struct LayoutPoint {
  double x, y;
};
struct Layout {
  std::vector<LayoutPoint> boxes;  // the upper left corner of each
  // Points of each edge, from the lower side of a box to the upper side of another, in pairs: a curve leads from the first to the second, a
  // straight line from there to the third.
  std::vector<std::vector<LayoutPoint>> edges;
  double width = 0, height = 0;
};

/// REQUIRES: an edge leads to a box behind the one it comes from. Time and memory grow with boxes, edges and the length of edges.
Layout lay_out(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges);

}  // namespace weft::inline v0
