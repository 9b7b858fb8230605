// Runs the body of a program on Weft's public API: now, or while it is traced.
#pragma once

#include "tests/fuzz/program.h"
#include <weft/weft.h>

namespace weft::fuzz {

enum class Mode : std::uint8_t {
  kEager,    // the program is a block of atomically, and so are its inner functions
  kTraced,   // all of them are Functions
  kMixed,    // a block of atomically that calls Functions
  kUntraced  // all of them are Functions that run eagerly
};

Shape shape_of(Type type, int length = 0);

class Interpreter {
 public:
  Interpreter(const Program& program, Mode mode);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// `slot` is the number of the Variable, which tells aliases.
  void bind(int handle, Variable& variable, int slot) {
    handles_[static_cast<std::size_t>(handle)] = &variable;
    slots_[static_cast<std::size_t>(handle)] = slot;
  }
  /// Forgets which Variables were used and written.
  void begin_call();
  std::vector<Tensor> run(std::vector<Tensor> arguments);

  std::size_t writes() const { return writes_; }
  const Features& seen() const { return seen_; }
  const Tensor random_state() const { return generator_.state; }

 private:
  using InnerFunction = Function<Tensor(Tensor, Variable, Variable)>;

  void see(Feature feature) {
    seen_.set(static_cast<std::size_t>(feature));
    if (taped_ && feature == Feature::kBranches) see(Feature::kBranchGradients);
    if (taped_ && feature == Feature::kLoops) see(Feature::kLoopGradients);
  }
  Variable& variable(int handle) { return *handles_[static_cast<std::size_t>(handle)]; }
  Variable& use(int handle, bool writes);

  Tensor eval(const Expr& e);
  Tensor apply(const Expr& e, std::vector<Tensor>& in);
  Tensor gradient(const Expr& e);
  Tensor call(const Expr& e, Tensor x);
  Tensor inner_body(const Inner& inner, Tensor x, Variable& first, Variable& second);

  void run(const Block& block) {
    for (const Stmt& s : block) run(s);
  }
  void run(const Stmt& s);
  void write(const Stmt& s, std::vector<Tensor>& in);
  void run_loop(const Stmt& s);

  /// What f gives with these as the next locals; those that it makes end with it.
  template <class F>
  auto with(std::initializer_list<Tensor> more, const F& f) {
    struct Restore {
      std::vector<Tensor>& locals;
      const std::size_t size = locals.size();
      ~Restore() { locals.resize(size); }
    } restore{locals_};
    locals_.insert(locals_.end(), more);
    return f();
  }
  auto part(const Block& block) {
    return [this, &block] { with({}, [&] { run(block); }); };
  }

  const Program& program_;
  const Mode mode_;
  std::vector<Variable> counters_;
  Generator generator_{1};
  std::vector<InnerFunction> functions_;
  std::array<Variable*, kHandles> handles_{};
  std::array<int, kHandles> slots_{};
  std::vector<Tensor> arguments_, locals_;

  bool taped_ = false;  // a gradient of what runs now is asked for
  Features seen_;
  std::size_t writes_ = 0;
  std::array<int, kSlots.size()> used_{};  // the handles of each, as bits
  std::bitset<kSlots.size()> written_;
};

}  // namespace weft::fuzz
