#include "state/slot.h"

#include "core/infer.h"
#include "state/batcher.h"

namespace weft::inline v0 {

__thread char thread_mark __attribute__((tls_model("initial-exec"))) = 0;

thread_local int graphs_being_built = 0;

namespace {

std::atomic<std::uint64_t> last_slot{0};

std::uint64_t next_id() { return last_slot.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace

std::uint64_t Slot::last_id() { return last_slot.load(std::memory_order_relaxed); }

namespace {

// Only a transaction knows what a local Variable holds while its Function is traced.
Tensor first_value(Tensor initial, const VariableOptions& options, Location at) {
  return options.local && initial.defined() && initial.node()->symbolic ? make_symbolic(initial.spec(), at) : with_own_node(std::move(initial), "Variable", at);
}

}  // namespace

Slot::Slot(Tensor initial, Spec spec, VariableOptions given, Location at)
    : value(first_value(std::move(initial), given, at)), writer(this_thread()), id(next_id()), declared(std::move(spec)),
      options(std::move(given)), made_at(at) {
  require_fits("Variable", value.spec(), at);
  writes[0] = {.version = 0, .step = -1, .by = "Variable", .at = at};
}

std::string Slot::title() const {
  if (!options.name.empty()) return "Variable \"" + options.name + "\"";
  return made_at.line == 0 ? "the Variable" : "the Variable made at " + place_text(made_at);
}

void Slot::require_fits(const char* by, const Spec& spec, Location at) const {
  if (spec.dtype != declared.dtype)
    throw DtypeError(by, title() + " is " + declared.str() + " and the value " + spec.str() +
        "; a Variable keeps its dtype, cast the value.", at);
  if (!infer::compatible(declared.shape, spec.shape))
    throw ShapeError(by, title() + " is " + declared.str() + " and the value " + spec.str() +
                             "; the shapes must agree (nothing is broadcast), or the Variable be declared with sizes that may change.", at);
}

Tensor with_own_node(Tensor x, const char* by, Location at) {
  if (!x.defined()) throw ValueError(by, "the value is an empty Tensor handle; assign a value to it first.", at);
  Node& node = *x.node();
  if (node.symbolic && std::string_view(by) == "Variable" && is_live(x))
    throw TraceError(by, "the value " + x.spec().str() + " depends on what a call of the Function that is traced brings, so it is another one in each; make "
                             "the Variable outside, its first value in an init_scope, or a local one of each call.", at);
  if (node.symbolic)
    throw TraceError(by, "the value " + x.spec().str() + " was made while tracing and has no value outside; return it from the traced function.",
                     node.made_at());
  if (node.count.load(std::memory_order_acquire) != 1) return make_view(x, x.shape());
  node.literal = false, node.program = 0;  // a value from here on
  return x;
}

std::string place_text(Location at) {
  const std::string_view path = at.file;
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1)) + ":" + std::to_string(at.line);
}

std::string WriteRecord::str() const {
  return "version " + std::to_string(version) + (step >= 0 ? " in step " + std::to_string(step) : "") + " by " + by +
         (at.line != 0 ? " at " + place_text(at) : "");
}

}  // namespace weft::inline v0
