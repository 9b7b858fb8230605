#include "graph/picture.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include <weft/print.h>

namespace weft::inline v0 {
namespace {

std::string name_of(const GraphPicture& picture, ValueId id) {
  const GraphValue& value = picture.graph->values[id];
  if (value.kind == GraphValue::Kind::kInput) return picture.inputs[value.from].name;
  const bool shown = value.kind == GraphValue::Kind::kConstant && value.spec.shape.rank() == 0;
  return shown ? constant_text(picture.graph->constants[value.from]) : "%" + std::to_string(id);
}

PictureBlock::Line line_of(const GraphPicture& picture, const GraphNode& node) {
  constexpr std::size_t kMost = 3;  // names
  PictureBlock::Line line{node.op->name, listed(node.inputs.size(), kMost, [&](std::size_t i) { return name_of(picture, node.inputs[i]); }), {}};
  for (std::uint32_t i = 0; i < node.count; ++i)
    line.hover += (i == 0 ? "%" : ", %") + std::to_string(node.first + i) + " " + picture.graph->values[node.first + i].spec.str();
  line.hover += " = " + call_text(node);
  for (ValueId id : node.inputs)
    line.hover += "\n%" + std::to_string(id) + " " + picture.graph->values[id].spec.str() + "  " + name_of(picture, id);
  if (node.at.line != 0) line.hover += "\n" + line_text(node.at);
  return line;
}

// The order of blocks in which each comes behind those it reads from; fewer than there are, if they read from each other.
std::vector<std::uint32_t> sorted(std::size_t count, const std::map<std::pair<std::uint32_t, std::uint32_t>, ValueId>& edges) {
  std::vector<std::vector<std::uint32_t>> readers(count);
  std::vector<std::uint32_t> missing(count), order;
  for (const auto& [edge, value] : edges) readers[edge.first].push_back(edge.second), ++missing[edge.second];
  for (std::uint32_t b = 0; b < count; ++b)
    if (missing[b] == 0) order.push_back(b);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::uint32_t reader : readers[order[i]])
      if (--missing[reader] == 0) order.push_back(reader);
  return order;
}

std::vector<std::string> names_of(const std::vector<GraphPicture::Port>& ports) {
  std::vector<std::string> names;
  for (const GraphPicture::Port& port : ports) names.push_back(port.name);
  return names;
}

std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out + '"';
}

}  // namespace

PictureBlocks blocks_of(const GraphPicture& picture) {
  const Graph& graph = *picture.graph;
  constexpr std::uint32_t kNone = ~0u;
  PictureBlocks made;
  std::vector<std::uint32_t> block_of(graph.nodes.size(), kNone);
  const auto inputs = static_cast<std::uint32_t>(graph.inputs.size());
  for (std::uint32_t i = 0; i < inputs; ++i) {
    const GraphValue& value = graph.values[graph.inputs[i]];
    const GraphPicture::Port& port = picture.inputs[i];
    const std::string spec = value.spec.str();
    made.blocks.push_back({port.variable ? BlockKind::kRead : BlockKind::kArgument, {{port.name, "", port.name + " " + spec}}, spec});
  }
  for (const GraphPicture::Step& step : picture.steps) {
    for (const std::uint32_t n : step.nodes) block_of[n] = static_cast<std::uint32_t>(made.blocks.size());
    made.blocks.push_back({step.nodes.size() > 1 ? BlockKind::kFused : BlockKind::kCall, {}, {}, step.microseconds});
  }
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    if (!node.runs) continue;
    if (block_of[n] == kNone) {
      block_of[n] = static_cast<std::uint32_t>(made.blocks.size());
      made.blocks.push_back({node.op->is(kView) ? BlockKind::kView : BlockKind::kCall, {}, {}});
    }
    PictureBlock& block = made.blocks[block_of[n]];
    block.lines.push_back(line_of(picture, node));
    if (node.count == 0) continue;
    const Spec& spec = graph.values[node.first].spec;
    if (block.kind == BlockKind::kFused) {
      block.below = "fused, over " + spec.shape.str();
      block.lines.back().rest += format(" -> %{}", node.first);
    } else {
      block.below = format("%{} ", node.first) + (node.count == 1 ? spec.str() : format("to %{}", node.first + node.count - 1));
    }
  }
  const auto source_of = [&](ValueId id) {
    const GraphValue& value = graph.values[id];
    return value.kind == GraphValue::Kind::kInput ? value.from : value.kind == GraphValue::Kind::kResult ? block_of[value.from] : kNone;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, ValueId> edges;
  const auto join = [&](ValueId id, std::uint32_t to) {
    if (const std::uint32_t from = source_of(id); from != kNone && from != to) edges.emplace(std::pair(from, to), id);
  };
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
    if (graph.nodes[n].runs)
      for (ValueId id : graph.nodes[n].inputs) join(id, block_of[n]);
  for (std::size_t i = 0, results = 0; i < graph.outputs.size(); ++i) {
    const GraphPicture::Port& port = picture.outputs[i];
    const std::string name = port.name.empty() ? format("result {}", results++) : port.name;
    const std::string spec = graph.values[graph.outputs[i]].spec.str();
    const std::string hover = name + " " + spec + "  " + name_of(picture, graph.outputs[i]);
    join(graph.outputs[i], static_cast<std::uint32_t>(made.blocks.size()));
    made.blocks.push_back({port.variable ? BlockKind::kWritten : BlockKind::kResult, {{name, "", hover}}, spec});
  }
  const std::vector<std::uint32_t> order = sorted(made.blocks.size(), edges);
  if (order.size() < made.blocks.size()) {  // groups that read from each other cannot be drawn as blocks
    GraphPicture apart = picture;
    apart.steps.clear();
    return blocks_of(apart);
  }
  std::vector<std::uint32_t> place(order.size());
  PictureBlocks result;
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i, result.blocks.push_back(std::move(made.blocks[order[i]]));
  for (const auto& [edge, id] : edges)
    result.edges.push_back({place[edge.first], place[edge.second], "%" + std::to_string(id) + " " + graph.values[id].spec.str()});
  return result;
}

std::string text_of(const GraphPicture& picture) { return picture.graph->str(names_of(picture.inputs), names_of(picture.outputs)); }

std::string dot_of(const std::string& name, std::span<const GraphPicture> pictures) {
  constexpr const char* kColors[] = {"palegreen", "plum", "lightblue", "white", "white", "palegreen", "plum"};  // of the kinds in order
  std::string text = "digraph weft {\n  label=" + dot_quoted(name) + "; labelloc=t;\n";
  text += "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=monospace, fontsize=10];\n";
  text += "  edge [color=gray50, arrowsize=0.6];\n";
  for (std::size_t t = 0; t < pictures.size(); ++t) {
    const PictureBlocks drawn = blocks_of(pictures[t]);
    const auto id = [&](std::uint32_t block, std::size_t line) { return format("t{}_{}_{}", t, block, line); };
    text += format("  subgraph cluster_{} {{\n    label=", t) + dot_quoted(format("trace {}: {}", t, pictures[t].title)) + ";\n";
    for (std::uint32_t b = 0; b < drawn.blocks.size(); ++b) {
      const PictureBlock& block = drawn.blocks[b];
      const bool fused = block.kind == BlockKind::kFused;
      if (fused) {
        text += format("    subgraph cluster_{}_{} {{\n      label=", t, b) + dot_quoted(block.below);
        text += "; style=\"rounded,filled\"; fillcolor=lightyellow;\n";
      }
      for (std::size_t i = 0; i < block.lines.size(); ++i) {
        const PictureBlock::Line& line = block.lines[i];
        const std::string label = line.op + (line.rest.empty() ? "" : " " + line.rest) + (fused ? "" : "\n" + block.below);
        text += "    " + id(b, i) + " [label=" + dot_quoted(label) + ", tooltip=" + dot_quoted(line.hover) + ", fillcolor=" +
                kColors[static_cast<int>(block.kind)] + "];\n";
        if (i > 0) text += "    " + id(b, i - 1) + " -> " + id(b, i) + " [style=dotted, arrowhead=none];\n";
      }
      if (fused) text += "    }\n";
    }
    for (const PictureEdge& edge : drawn.edges)
      text += "    " + id(edge.from, drawn.blocks[edge.from].lines.size() - 1) + " -> " + id(edge.to, 0) + " [tooltip=" +
              dot_quoted(edge.hover) + "];\n";
    text += "  }\n";
  }
  return text + "}\n";
}

}  // namespace weft::inline v0
