// What a Function is told when it is made.
#include "graph/passes.h"
#include "state/function_core.h"
#include <weft/print.h>

namespace weft::inline v0::detail {
namespace {

void require_passes(const std::vector<std::string>& names, Location at) {
  for (const std::string& name : names) {
    std::string known;
    bool found = false;
    for (const Pass& pass : passes()) {
      known += (known.empty() ? "" : ", ") + std::string(pass.name);
      found = found || name == pass.name;
    }
    if (!found)
      throw ValueError("Function", format("without names the pass \"{}\", which does not exist; the passes are {}.", name, known), at);
  }
}

void require_names(const std::vector<std::string>& names, Location at) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) throw ValueError("Function", format("args has an empty name for argument {}; give it one.", i), at);
    for (std::size_t j = 0; j < i; ++j)
      if (names[i] == names[j])
        throw ValueError("Function", format("args has the name \"{}\" for argument {} and for argument {}; give each a name of its own.", names[i], j, i), at);
  }
}

void require_positive(const char* name, int number, Location at) {
  if (number < 1) throw ValueError("Function", format("{} is {}; it must be 1 or more.", name, number), at);
}

}  // namespace

FunctionCore::FunctionCore(FunctionOptions given, std::size_t arguments, Location at)
    : options(std::move(given)), name_(options.name.empty() ? "the Function made at " + place_text(at) : options.name) {
  if (options.args.size() > arguments)
    throw ValueError("Function", format("args has {} names and the body takes {}; name each argument once.", options.args.size(), arguments), at);
  require_names(options.args, at);
  require_positive("max_traces", options.max_traces, at);
  require_positive("max_plans", options.max_plans, at);
  require_passes(options.without, at);
}

std::shared_ptr<FunctionCore> make_function(FunctionOptions options, std::size_t arguments, bool has_body, Location at) {
  if (!has_body) throw ValueError("Function", "the body is an empty std::function or a null pointer; give something that can be called.", at);
  return std::make_shared<FunctionCore>(std::move(options), arguments, at);
}

}  // namespace weft::inline v0::detail
