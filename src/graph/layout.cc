#include "graph/layout.h"

#include <algorithm>
#include <numeric>

namespace weft::inline v0 {
namespace {

constexpr double kBeside = 22, kBelow = 34, kBend = 7;  // room between boxes, between layers, and for a line that passes a layer
constexpr double kToMiddle = 0.12;                       // strength of the pull there; that of a line is 1
constexpr int kOrderSweeps = 12, kPlaceSweeps = 40;

// A box, or the place where a line passes a layer. One line serves all readers of a box, so it passes a layer once.
struct Vertex {
  std::uint32_t layer;
  double width, x = 0;
  bool box;
  std::vector<std::uint32_t> up{}, down{};
};

class Layers {
 public:
  Layers(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges) : boxes_(boxes), edges_(edges) {
    choose_layers();
    add_bends();
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) order(sweep % 2 == 0);
    place();
  }
  Layout result() const;

 private:
  void choose_layers();
  void add_bends();
  void order(bool downward);
  void place();
  void move_toward(const std::vector<std::uint32_t>& row, bool up, bool down);
  // The vertices on the way of an edge, both boxes included.
  std::vector<std::uint32_t> way(const LayoutEdge& edge) const {
    std::vector<std::uint32_t> all{edge.from};
    for (std::uint32_t layer = vertices_[edge.from].layer + 1; layer < vertices_[edge.to].layer; ++layer)
      all.push_back(bends_[edge.from][layer - vertices_[edge.from].layer - 1]);
    all.push_back(edge.to);
    return all;
  }

  const std::vector<LayoutBox>& boxes_;
  const std::vector<LayoutEdge>& edges_;
  std::vector<Vertex> vertices_;                    // the boxes, then the bends
  std::vector<std::vector<std::uint32_t>> bends_;   // of each box, from its layer down
  std::vector<std::vector<std::uint32_t>> rows_;    // of each layer, from left to right
};

void Layers::choose_layers() {
  for (const LayoutBox& box : boxes_) vertices_.push_back({0, box.width, 0, true});
  std::vector<std::vector<std::uint32_t>> readers(boxes_.size());
  std::vector<bool> reads(boxes_.size());
  for (const LayoutEdge& edge : edges_) readers[edge.from].push_back(edge.to), reads[edge.to] = true;
  std::uint32_t deepest = 0;
  for (std::size_t b = 0; b < boxes_.size(); ++b) {
    deepest = std::max(deepest, vertices_[b].layer);
    for (const std::uint32_t to : readers[b]) vertices_[to].layer = std::max(vertices_[to].layer, vertices_[b].layer + 1);
  }
  for (std::size_t b = 0; b < boxes_.size(); ++b) {
    if (reads[b] || readers[b].empty()) continue;
    std::uint32_t first = deepest;
    for (const std::uint32_t to : readers[b]) first = std::min(first, vertices_[to].layer);
    vertices_[b].layer = first - 1;
  }
  rows_.resize(deepest + 1);
}

void Layers::add_bends() {
  bends_.resize(boxes_.size());
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    if (std::find(vertices_[a].down.begin(), vertices_[a].down.end(), b) != vertices_[a].down.end()) return;
    vertices_[a].down.push_back(b);
    vertices_[b].up.push_back(a);
  };
  for (const LayoutEdge& edge : edges_) {
    std::vector<std::uint32_t>& line = bends_[edge.from];
    const std::uint32_t from = vertices_[edge.from].layer;
    while (from + 1 + line.size() < vertices_[edge.to].layer) {
      vertices_.push_back({from + 1 + static_cast<std::uint32_t>(line.size()), kBend, 0, false});
      line.push_back(static_cast<std::uint32_t>(vertices_.size() - 1));
    }
    const std::vector<std::uint32_t> points = way(edge);
    for (std::size_t i = 1; i < points.size(); ++i) link(points[i - 1], points[i]);
  }
  for (std::size_t v = 0; v < vertices_.size(); ++v) rows_[vertices_[v].layer].push_back(static_cast<std::uint32_t>(v));
}

// Each layer in the order of the mean position of what its vertices are joined to in the layer before it.
void Layers::order(bool downward) {
  std::vector<double> position(vertices_.size());
  const auto number = [&](const std::vector<std::uint32_t>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) position[row[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(row.size());
  };
  for (const auto& row : rows_) number(row);
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    std::vector<std::uint32_t>& row = rows_[downward ? i : rows_.size() - 1 - i];
    for (const std::uint32_t v : row) {
      const std::vector<std::uint32_t>& near = downward ? vertices_[v].up : vertices_[v].down;
      if (near.empty()) continue;
      double sum = 0;
      for (const std::uint32_t u : near) sum += position[u];
      position[v] = sum / static_cast<double>(near.size());
    }
    std::stable_sort(row.begin(), row.end(), [&](std::uint32_t a, std::uint32_t b) { return position[a] < position[b]; });
    number(row);
  }
}

// The positions nearest to the means of the neighbours' that keep the order and the room between: least squares, by merging blocks that
// would overlap.
void Layers::move_toward(const std::vector<std::uint32_t>& row, bool up, bool down) {
  struct Block {
    double sum, weight;
    std::size_t count;
  };
  std::vector<Block> blocks;
  std::vector<double> offsets;
  double offset = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Vertex& v = vertices_[row[i]];
    if (i > 0) {
      const Vertex& left = vertices_[row[i - 1]];
      offset += (left.width + v.width) / 2 + (left.box && v.box ? kBeside : left.box || v.box ? kBeside / 2 : kBend);
    }
    offsets.push_back(offset);
    double sum = 0, weight = v.box ? kToMiddle : kToMiddle / 100;  // without it, deep drawings drift to a side
    const auto pull = [&](const std::vector<std::uint32_t>& near) {
      for (const std::uint32_t u : near) {
        const double strength = !v.box && !vertices_[u].box ? 10 : 1;  // long lines are straight
        sum += strength * vertices_[u].x, weight += strength;
      }
    };
    if (up) pull(v.up);
    if (down) pull(v.down);
    Block block{sum - weight * offset, weight, 1};
    while (!blocks.empty() && blocks.back().sum / blocks.back().weight > block.sum / block.weight) {
      block.sum += blocks.back().sum, block.weight += blocks.back().weight, block.count += blocks.back().count;
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  std::size_t i = 0;
  for (const Block& block : blocks)
    for (std::size_t k = 0; k < block.count; ++k, ++i) vertices_[row[i]].x = block.sum / block.weight + offsets[i];
}

void Layers::place() {
  for (const auto& row : rows_) move_toward(row, false, false);
  for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
    const bool both = sweep >= kPlaceSweeps / 2;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      move_toward(rows_[sweep % 2 == 0 ? i : rows_.size() - 1 - i], both || sweep % 2 == 0, both || sweep % 2 == 1);
  }
  double left = 0;
  for (const Vertex& v : vertices_) left = std::min(left, v.x - v.width / 2);
  for (Vertex& v : vertices_) v.x -= left;
}

Layout Layers::result() const {
  Layout layout;
  std::vector<double> top(rows_.size()), bottom(rows_.size());
  double y = 0;
  for (std::size_t layer = 0; layer < rows_.size(); ++layer) {
    double height = 0;
    for (const std::uint32_t v : rows_[layer])
      if (v < boxes_.size()) height = std::max(height, boxes_[v].height);
    top[layer] = y, bottom[layer] = y + height;
    y += height + kBelow;
  }
  layout.height = std::max(0.0, y - kBelow);
  for (std::size_t b = 0; b < boxes_.size(); ++b) {
    const Vertex& v = vertices_[b];
    layout.boxes.push_back({v.x - v.width / 2, top[v.layer]});
  }
  for (const Vertex& v : vertices_) layout.width = std::max(layout.width, v.x + v.width / 2);
  for (const LayoutEdge& edge : edges_) {
    std::vector<LayoutPoint>& points = layout.edges.emplace_back();
    const std::vector<std::uint32_t> line = way(edge);
    for (std::size_t i = 0; i < line.size(); ++i) {
      const Vertex& v = vertices_[line[i]];
      if (i == 0) {
        points.push_back({v.x, top[v.layer] + boxes_[line[i]].height});
      } else {
        points.push_back({v.x, top[v.layer]});
        if (i + 1 < line.size()) points.push_back({v.x, bottom[v.layer]});
      }
    }
  }
  return layout;
}

}  // namespace

Layout lay_out(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges) { return Layers(boxes, edges).result(); }

}  // namespace weft::inline v0
