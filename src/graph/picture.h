// GraphPicture: a graph with what a person wants to know of it, as text, as DOT and as a page.
#pragma once

#include "graph/graph.h"

namespace weft::inline v0 {

struct GraphPicture {
  struct Port {
    std::string name;  // none: a result
    bool variable;     // read from one, or written to one
  };
  struct Step {
    std::vector<std::uint32_t> nodes;  // calls, in their order; several are a fused group
    double microseconds;               // 0: not measured
  };
  std::shared_ptr<const Graph> graph;
  std::string title;
  std::vector<Port> inputs, outputs;  // as many as the graph has
  std::vector<Step> steps;            // of its plan, if it has one. Views are in no step: they cost nothing
};

enum class BlockKind : std::uint8_t { kArgument, kRead, kCall, kView, kFused, kResult, kWritten };
/// What a drawing consists of: ports and blocks of calls, each behind those it reads from.
struct PictureBlock {
  BlockKind kind;
  struct Line {
    std::string op, rest;  // "multiply", "%3, 0.5"
    std::string hover;     // all there is to say
  };
  std::vector<Line> lines;
  std::string below;  // a Spec
  double microseconds = 0;
};
struct PictureEdge {
  std::uint32_t from, to;
  std::string hover;
};
struct PictureBlocks {
  std::vector<PictureBlock> blocks;
  std::vector<PictureEdge> edges;  // each pair once
};
PictureBlocks blocks_of(const GraphPicture& picture);

std::string text_of(const GraphPicture& picture);
std::string dot_of(const std::string& name, std::span<const GraphPicture> pictures);
std::string page_of(const std::string& name, std::span<const GraphPicture> pictures);

/// With &lt; for < and so on, for HTML and SVG.
std::string escaped(std::string_view text);

}  // namespace weft::inline v0
