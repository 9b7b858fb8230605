#include "graph/graph.h"

#include <algorithm>

#include "base/room.h"
#include "graph/region.h"

namespace weft::inline v0 {
namespace {

std::string name_of_value(ValueId id) { return "%" + std::to_string(id); }

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    out += "    " + text.substr(at, end - at);
    at = end;
  }
  return out;
}

// The graphs that a call runs: branches, the body of a loop.
std::string bodies_text(const GraphNode& node) {
  std::string text;
  for (const Attr& attr : node.attrs)
    if (const auto* const region = std::get_if<std::shared_ptr<const Region>>(&attr); region != nullptr && *region != nullptr) {
      if (const Counting* const counting = (*region)->counted())
        text += "  counts its turns: carried value " + std::to_string(counting->counter) + ", by " + std::to_string(counting->step) + "\n";
      for (std::size_t i = 0; i < (*region)->bodies.size(); ++i)
        text += "  body " + std::to_string(i) + ":\n" + indented((*region)->bodies[i]->graph().str());
    }
  return text;
}

std::string place(Location at) { return at.line == 0 ? "" : "   " + line_text(at); }

}  // namespace

std::string line_text(Location at) {
  if (at.line == 0) return "";
  const std::string_view path = at.file;
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1)) + ":" + std::to_string(at.line);
}

std::string call_text(const GraphNode& node) {
  std::string text = std::string(node.op->name) + "(";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) text += (i == 0 ? "" : ", ") + name_of_value(node.inputs[i]);
  for (std::size_t i = 0; i < node.attrs.size(); ++i) {
    const AttrDef& def = node.op->attrs[i];
    if (node.attrs[i] == def.fallback && !def.required) continue;
    text += (text.ends_with('(') ? "" : ", ") + std::string(def.name) + "=" + attr_text(def, node.attrs[i]);
  }
  return text + ")";
}

std::string constant_text(const GraphConstant& constant) { return constant.value.size() <= 8 ? constant.value.str() : "..."; }

ValueId Graph::add_input(Spec spec, Location at) {
  const auto id = static_cast<ValueId>(values.size());
  make_room(inputs);
  values.push_back({GraphValue::Kind::kInput, static_cast<std::uint32_t>(inputs.size()), std::move(spec), at});
  inputs.push_back(id);
  return id;
}

ValueId Graph::add_constant(GraphConstant constant) {
  const auto id = static_cast<ValueId>(values.size());
  make_room(constants);
  values.push_back({GraphValue::Kind::kConstant, static_cast<std::uint32_t>(constants.size()), constant.value.spec(), constant.at});
  constants.push_back(std::move(constant));
  return id;
}

ValueId Graph::add_node(const Op& op, AttrSpan attrs, std::span<const ValueId> given, const Specs& results, Location at) {
  const auto first = static_cast<ValueId>(values.size());
  GraphNode node{&op, {attrs.begin(), attrs.end()}, {given.begin(), given.end()}, first, static_cast<std::uint32_t>(results.size()), at};
  make_room(nodes);
  try {
    for (const Spec& spec : results) values.push_back({GraphValue::Kind::kResult, static_cast<std::uint32_t>(nodes.size()), spec, at});
  } catch (...) {
    values.erase(values.begin() + first, values.end());
    throw;
  }
  nodes.push_back(std::move(node));
  return first;
}

void Graph::add_rule(const Op& op, AttrSpan attrs, std::span<const ValueId> given, Location at) {
  add_node(op, attrs, given, {}, at);
  nodes.back().runs = false;
}

std::size_t Graph::calls() const {
  return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [](const GraphNode& node) { return node.runs; }));
}

std::string Graph::str(std::span<const std::string> input_names, std::span<const std::string> output_names) const {
  std::string text;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    text += name_of_value(inputs[i]) + " " + values[inputs[i]].spec.str() + " = input" + (input_names.empty() ? "" : " " + input_names[i]) +
            place(values[inputs[i]].made_at) + "\n";
  for (std::size_t id = 0; id < values.size(); ++id) {
    if (values[id].kind != GraphValue::Kind::kConstant) continue;
    const GraphConstant& constant = constants[values[id].from];
    text += name_of_value(static_cast<ValueId>(id)) + " " + values[id].spec.str() + " = constant " + constant_text(constant) +
            (is_own_line(constant.at) ? "" : place(constant.at)) + "\n";  // a line of Weft itself tells a program nothing
  }
  for (const GraphNode& node : nodes) {
    if (!node.runs) text += "check ";
    for (std::uint32_t i = 0; i < node.count; ++i)
      text += (i == 0 ? "" : ", ") + name_of_value(node.first + i) + " " + values[node.first + i].spec.str();
    text += (node.count > 0 ? " = " : "") + call_text(node) + place(node.at) + "\n" + bodies_text(node);
  }
  std::string returned = "return", written;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!output_names.empty() && !output_names[i].empty())
      written += "write " + name_of_value(outputs[i]) + " to " + output_names[i] + "\n";
    else returned += (returned == "return" ? " " : ", ") + name_of_value(outputs[i]);
  }
  return text + written + returned + "\n";
}

void verify(const Graph& graph, const char* after) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw InternalError(std::string("after ") + after + ": " + what);
  };
  using From = GraphValue::Kind;
  std::vector<bool> exists(graph.values.size()), of_rule(graph.values.size());
  const auto here = [&](ValueId id) { return id < graph.values.size() && exists[id]; };
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i];
    require(id < graph.values.size() && graph.values[id].kind == From::kInput && graph.values[id].from == i, "an input is not its value");
    exists[id] = true;
  }
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].kind != From::kConstant) continue;
    require(graph.values[id].from < graph.constants.size(), "a constant does not exist");
    require(graph.values[id].spec == graph.constants[graph.values[id].from].value.spec(), "a constant has another Spec than its value");
    exists[id] = true;
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    SmallVector<const Spec*, 4> specs;
    for (ValueId id : node.inputs) {
      require(here(id), "a node reads what does not exist yet");
      require(!node.runs || !of_rule[id], "a call that runs reads what a rule makes");
      specs.push_back(&graph.values[id].spec);
    }
    require(node.attrs.size() == node.op->attrs.size(), "a node has other attributes than its row");
    const Specs results = node.op->infer(Infer{{*node.op, node.attrs, node.at}, specs});
    require(results.size() == node.count || (!node.runs && node.count == 0), "a node has another number of results than its row");
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const ValueId id = node.first + i;
      require(id < graph.values.size() && graph.values[id].kind == From::kResult && graph.values[id].from == n, "a result is not its node's");
      require(!exists[id], "a value is made twice");
      require(graph.values[id].spec == results[i], "a result has another Spec than its row infers");
      exists[id] = true;
      of_rule[id] = !node.runs;
    }
  }
  for (ValueId id : graph.outputs) require(here(id) && !of_rule[id], "an output does not exist");
}

std::vector<std::uint32_t> count_uses(const Graph& graph) {
  std::vector<std::uint32_t> uses(graph.values.size());
  for (const GraphNode& node : graph.nodes)
    if (node.runs)
      for (ValueId id : node.inputs) ++uses[id];
  for (ValueId id : graph.outputs) ++uses[id];
  return uses;
}

}  // namespace weft::inline v0
