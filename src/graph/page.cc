// The page that shows the traces of a Function: one drawing each, laid out here, with nothing to load from elsewhere.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "graph/layout.h"
#include "graph/picture.h"
#include <weft/print.h>

namespace weft::inline v0 {
namespace {

constexpr double kLetter = 7.3, kSmallLetter = 6.1, kLine = 18, kEdge = 10;  // widths of letters, height of a line, room inside a box
constexpr std::size_t kMostPorts = 4;     // drawn for one block; of more it says how many, and the lists above and below have all
constexpr std::uint32_t kNearLayers = 2;  // a Variable or argument that is read farther down is only named there
constexpr std::size_t kMostLetters = 52;

constexpr const char* kStyle = R"(
body { font: 14px/1.45 system-ui, sans-serif; margin: 24px; color: #1d2733; background: #fff }
h1 { font-size: 20px; margin: 0 0 4px } h2 { font-size: 16px; margin: 28px 0 8px }
.bar { color: #5a6675; margin: 0 0 8px; display: flex; gap: 18px; flex-wrap: wrap; align-items: center }
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; border: 1px solid #0003 }
.key i { margin-right: 5px; vertical-align: -1px }
.list { display: flex; flex-wrap: wrap; gap: 6px; align-items: baseline; margin: 8px 0 }
.list { font: 12px ui-monospace, "DejaVu Sans Mono", monospace }
.list b { font: 600 13px system-ui, sans-serif; color: #5a6675; min-width: 58px }
.pill { border: 1px solid #0002; border-radius: 9px; padding: 1px 8px; cursor: default }
svg { display: block; margin: auto }
.draw { overflow: auto; border: 1px solid #dfe4ea; border-radius: 8px; padding: 14px; background: #fbfcfd }
svg text { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: #1d2733 }
svg .op { font-weight: 700 } svg .small { font-size: 10px; fill: #5a6675 }
svg .time { font-size: 10px; fill: #b3400f; font-weight: 700 }
svg rect { stroke: #0003 } svg .heat { stroke: none; fill: #e8590c }
svg path { fill: none; stroke: #9aa7b5; stroke-width: 1.3 } svg path.on { stroke: #d6336c; stroke-width: 2.4 }
.near > rect:first-child, .block:hover > rect:first-child { stroke: #d6336c; stroke-width: 2 }
.pill.near { outline: 2px solid #d6336c }
.argument, .result { fill: #d3f3df; background: #d3f3df } .read, .written { fill: #e9dcf9; background: #e9dcf9 }
.call { fill: #d8e8fb; background: #d8e8fb } .fused { fill: #fff3d1; background: #fff3d1 }
.view { fill: #fff; background: #fff; stroke-dasharray: 3 2 }
pre { font-size: 12px; overflow: auto; background: #f4f6f8; padding: 10px; border-radius: 6px }
)";

constexpr const char* kHead = R"(<div class="bar key"><span><i class="argument"></i>argument, result</span>
<span><i class="read"></i>Variable</span><span><i class="call"></i>step with a kernel</span>
<span><i class="fused"></i>fused step</span><span><i class="view"></i>view, free</span></div>
<svg width="0" height="0" style="position:absolute"><defs>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" markerUnits="userSpaceOnUse" orient="auto">
<path d="M0 0L8 4L0 8z" style="fill:#9aa7b5;stroke:none"/></marker></defs></svg>
)";

constexpr const char* kScript = R"(
for (const e of document.querySelectorAll('[data-near]')) {
  const mark = on => {
    for (const id of e.dataset.near.split(' '))
      for (const b of document.querySelectorAll('[data-id="' + id + '"]')) b.classList.toggle('near', on);
    for (const p of document.querySelectorAll('path[data-ends~="' + e.dataset.id + '"]')) p.classList.toggle('on', on);
  };
  e.onmouseenter = () => mark(true); e.onmouseleave = () => mark(false);
}
for (const box of document.querySelectorAll('.trace')) {
  const svg = box.querySelector('svg'), size = box.querySelector('input'), wide = +svg.getAttribute('width');
  const fit = Math.max(50, Math.min(100, Math.floor(100 * (box.querySelector('.draw').clientWidth - 30) / wide)));
  size.oninput = () => { svg.style.width = wide * size.value / 100 + 'px'; svg.style.height = 'auto'; };
  size.value = fit; size.oninput();
}
)";

const char* class_of(BlockKind kind) {
  constexpr const char* kNames[] = {"argument", "read", "call", "view", "fused", "result", "written"};
  return kNames[static_cast<int>(kind)];
}

bool is_source(BlockKind kind) { return kind == BlockKind::kArgument || kind == BlockKind::kRead; }
bool is_sink(BlockKind kind) { return kind == BlockKind::kResult || kind == BlockKind::kWritten; }

std::string shortened(std::string text) {
  if (text.size() > kMostLetters) text = text.substr(0, kMostLetters - 3) + "...";
  return text;
}

std::string time_text(double microseconds) {
  return microseconds <= 0 ? "" : format(microseconds < 100 ? "{:.1f} us" : "{:.0f} us", microseconds);
}

// One drawing. Blocks keep their numbers as ids, also those that are only listed.
class Drawing {
 public:
  Drawing(const GraphPicture& picture, std::size_t trace) : drawn_(blocks_of(picture)), trace_(trace), near_(drawn_.blocks.size()) {
    for (const PictureEdge& edge : drawn_.edges) near_[edge.from].insert(edge.to), near_[edge.to].insert(edge.from);
    for (const PictureBlock& block : drawn_.blocks) slowest_ = std::max(slowest_, block.microseconds);
    choose_edges();
  }
  std::string svg() const;
  std::string list(const char* title, BlockKind kind) const;

 private:
  void choose_edges();
  std::string id(std::uint32_t block) const { return "t" + std::to_string(trace_) + "b" + std::to_string(block); }
  std::string marks(std::uint32_t block) const {
    std::string near;
    for (const std::uint32_t other : near_[block]) near += (near.empty() ? "" : " ") + id(other);
    return " data-id=\"" + id(block) + "\" data-near=\"" + near + "\"";
  }
  LayoutBox size_of_block(const PictureBlock& block) const;
  std::string shape_of(std::uint32_t number, LayoutPoint at, LayoutBox size) const;

  PictureBlocks drawn_;
  std::size_t trace_;
  std::vector<std::set<std::uint32_t>> near_;
  double slowest_ = 0;
  std::vector<std::uint32_t> shown_;  // blocks
  std::vector<LayoutEdge> edges_;     // between positions in shown_
  std::vector<const PictureEdge*> edge_of_;
};

void Drawing::choose_edges() {
  const std::vector<PictureBlock>& blocks = drawn_.blocks;
  std::vector<std::uint32_t> layer(blocks.size()), first(blocks.size(), ~0u);
  std::vector<std::vector<const PictureEdge*>> into(blocks.size());
  for (const PictureEdge& edge : drawn_.edges) into[edge.to].push_back(&edge);
  for (std::size_t b = 0; b < blocks.size(); ++b)  // each block comes behind those that it reads from
    for (const PictureEdge* edge : into[b])
      if (!is_source(blocks[edge->from].kind)) layer[b] = std::max(layer[b], layer[edge->from] + 1);
  std::vector<std::uint32_t> reader(blocks.size(), ~0u);
  for (const PictureEdge& edge : drawn_.edges)
    if (is_source(blocks[edge.from].kind) && layer[edge.to] < first[edge.from])
      first[edge.from] = layer[edge.to], reader[edge.from] = edge.to;
  // What a block reads first or writes: a few are drawn beside it, many are only counted.
  const auto partner = [&](std::size_t b) {
    if (is_source(blocks[b].kind)) return reader[b];
    return blocks[b].kind == BlockKind::kWritten && into[b].size() == 1 ? into[b][0]->from : ~0u;
  };
  std::vector<std::uint32_t> reads(blocks.size()), writes(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (partner(b) != ~0u) ++(is_source(blocks[b].kind) ? reads : writes)[partner(b)];
  std::vector<bool> hidden(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b)
    hidden[b] = partner(b) == ~0u ? is_source(blocks[b].kind) : (is_source(blocks[b].kind) ? reads : writes)[partner(b)] > kMostPorts;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (reads[b] > kMostPorts) drawn_.blocks[b].below += format(", reads {}", reads[b]);
    if (writes[b] > kMostPorts) drawn_.blocks[b].below += format(", writes {}", writes[b]);
  }
  std::vector<std::uint32_t> place(blocks.size());
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    if (!hidden[b]) place[b] = static_cast<std::uint32_t>(shown_.size()), shown_.push_back(b);
  for (const PictureEdge& edge : drawn_.edges) {
    if (hidden[edge.from] || hidden[edge.to]) continue;
    if (is_source(blocks[edge.from].kind) && layer[edge.to] >= first[edge.from] + kNearLayers) continue;
    edges_.push_back({place[edge.from], place[edge.to]});
    edge_of_.push_back(&edge);
  }
}

LayoutBox Drawing::size_of_block(const PictureBlock& block) const {
  std::size_t letters = 0;
  for (const PictureBlock::Line& line : block.lines) letters = std::max(letters, shortened(line.op + " " + line.rest).size());
  const double below = kSmallLetter * static_cast<double>(block.below.size() + time_text(block.microseconds).size() + 2);
  const double width = std::max(kLetter * static_cast<double>(letters), below);
  return {width + 2 * kEdge, kLine * static_cast<double>(block.lines.size()) + kLine + 4};
}

std::string Drawing::shape_of(std::uint32_t number, LayoutPoint at, LayoutBox size) const {
  const PictureBlock& block = drawn_.blocks[number];
  const bool port = is_source(block.kind) || is_sink(block.kind), fused = block.kind == BlockKind::kFused;
  std::string text = "<g class=\"block\"" + marks(number) + ">";
  text += format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{}\"/>", class_of(block.kind), at.x, at.y,
                 size.width, size.height, port ? 13 : 5);
  if (slowest_ > 0 && block.microseconds > 0)
    text += format("<rect class=\"heat\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"3\"/>", at.x + 2, at.y + size.height - 3.5,
                   (size.width - 4) * block.microseconds / slowest_);
  double y = at.y + 14;
  const auto small_line = [&] {
    text += format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", at.x + kEdge, y, escaped(block.below));
    if (block.microseconds > 0)
      text += format("<text class=\"time\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", at.x + size.width - kEdge, y,
                     time_text(block.microseconds));
    y += kLine;
  };
  if (fused) small_line();
  for (const PictureBlock::Line& line : block.lines) {
    const std::string rest = shortened(line.op + " " + line.rest).substr(std::min(line.op.size(), kMostLetters));
    text += format("<g><title>{}</title><text x=\"{:.1f}\" y=\"{:.1f}\"><tspan class=\"op\">{}</tspan>{}</text></g>", escaped(line.hover),
                   at.x + kEdge, y, escaped(shortened(line.op)), escaped(rest));
    y += kLine;
  }
  if (!fused) y -= 3, small_line();
  return text + "</g>\n";
}

std::string Drawing::svg() const {
  std::vector<LayoutBox> sizes;
  for (const std::uint32_t b : shown_) sizes.push_back(size_of_block(drawn_.blocks[b]));
  const Layout layout = lay_out(sizes, edges_);
  const double width = layout.width + 8, height = layout.height + 8;
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
  text += format(" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"-4 -4 {:.0f} {:.0f}\">\n", width, height, width, height);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const std::vector<LayoutPoint>& points = layout.edges[e];
    std::string path = format("M{:.1f} {:.1f}", points[0].x, points[0].y);
    for (std::size_t i = 1; i < points.size(); ++i) {
      const LayoutPoint &a = points[i - 1], &b = points[i];
      const double between = (a.y + b.y) / 2;
      if (i % 2 == 0) path += format("V{:.1f}", b.y);
      else path += format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, between, b.x, between, b.x, b.y);
    }
    const PictureEdge& edge = *edge_of_[e];
    text += "<path data-ends=\"" + id(edge.from) + " " + id(edge.to) + "\" marker-end=\"url(#tip)\" d=\"" + path + "\"><title>" +
            escaped(edge.hover) + "</title></path>\n";
  }
  for (std::size_t i = 0; i < shown_.size(); ++i) text += shape_of(shown_[i], layout.boxes[i], sizes[i]);
  return text + "</svg>";
}

std::string Drawing::list(const char* title, BlockKind kind) const {
  std::string pills;
  for (std::uint32_t b = 0; b < drawn_.blocks.size(); ++b) {
    const PictureBlock& block = drawn_.blocks[b];
    if (block.kind == kind)
      pills += format("<span class=\"pill {}\"{} title=\"{}\">{}</span>", class_of(kind), marks(b), escaped(block.lines[0].hover),
                      escaped(block.lines[0].op));
  }
  return pills.empty() ? "" : "<div class=\"list\"><b>" + std::string(title) + "</b>" + pills + "</div>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string page_of(const std::string& name, std::span<const GraphPicture> pictures) {
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(name) + "</title><style>" +
                     kStyle + "</style></head><body>\n<h1>" + escaped(name) + "</h1>\n" + kHead;
  for (std::size_t t = 0; t < pictures.size(); ++t) {
    const GraphPicture& picture = pictures[t];
    const Drawing drawing(picture, t);
    page += "<div class=\"trace\"><h2>" + escaped(format("trace {}: {}", t, picture.title)) + "</h2>\n<div class=\"bar\"><span>" +
            counted(picture.graph->calls(), "op") + ", " + counted(picture.steps.size(), "step") +
            "</span><label>size <input type=\"range\" min=\"20\" max=\"200\"></label></div>\n";
    page += drawing.list("takes", BlockKind::kArgument) + drawing.list("reads", BlockKind::kRead);
    page += "<div class=\"draw\">" + drawing.svg() + "</div>\n";
    page += drawing.list("writes", BlockKind::kWritten) + drawing.list("returns", BlockKind::kResult);
    page += "<details><summary>as text</summary><pre>" + escaped(text_of(picture)) + "</pre></details></div>\n";
  }
  if (pictures.empty()) page += "<p>It has not been traced yet.</p>\n";
  return page + "<script>" + kScript + "</script></body></html>\n";
}

}  // namespace weft::inline v0
