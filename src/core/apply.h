// apply: the one place through which every op call goes, and the interpreters behind it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "core/op.h"

namespace weft::inline v0 {

class Variable;  // of a layer above; passed through

/// One call of an op. The handles in `inputs` belong to the callee: it may move from them.
struct Call {
  const Op& op;
  std::span<Tensor> inputs;
  AttrSpan attrs;
  Location at;
};

/// What a call means now. The top of the thread's stack decides; an empty stack means eager execution. An interpreter
/// belongs to the thread that installed it and is removed there, in any order, or when that thread ends.
class Interpreter {
 public:
  virtual ~Interpreter() = default;
  virtual void apply(Call call, Tensors& outputs) = 0;
  /// What reading a Variable gives now, if its slot (ids are unique) holds `value`. An interpreter that only looks on first asks the
  /// one below; every Variable asks top() whenever a program reads it. The default passes on.
  virtual Tensor read(std::uint64_t slot, const Variable& variable, Tensor value, Location at);

  /// A number of the program, or a list of them, has become this tensor. The default passes on.
  virtual void wrote(const Tensor& numbers, Location at);
  /// A program that has been traced is called, and this is one of its numbers. The default passes on.
  virtual void wrote_before(const Tensor& numbers, Location at);

  /// This call does not run: the calls from here to `stood_for` stand for it, or nobody needs it. Its rule holds as far as sizes are known, but some may
  /// not be: who keeps calls for a time when they are keeps this one too, to apply the rule again. If `results` is not null, other rules read them,
  /// and who keeps the call appends symbols of them. The default passes on.
  virtual void stands_for(const Call& call, Tensors* results);
  virtual void stood_for() noexcept;

  /// Whether it has made this symbol, which has a meaning while it is installed.
  virtual bool owns(const Tensor& /*symbol*/) const { return false; }

  static Interpreter* top();
  Interpreter* below() const { return below_; }
  void install();
  void remove();  // REQUIRES: installed on this thread
  bool installed() const { return installed_ && !left_; }
  bool installed_here() const;  // on this thread
  /// Ends it on any thread. If another one has it installed, the last of the two deletes it: that thread, when it installs the next one or
  /// ends, or this call.
  static void retire(std::unique_ptr<Interpreter> interpreter);

  /// Makes `interpreter` the top for a scope (null: eager).
  class Scope {
   public:
    explicit Scope(Interpreter* interpreter);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Interpreter* before_;
  };

 protected:
  /// Hands a call to the interpreter below this one.
  void delegate(Call call, Tensors& outputs);
  bool retired() const { return left_.load(std::memory_order_relaxed); }

 private:
  struct EndOfThread;
  static void delete_retired();
  Interpreter* below_ = nullptr;
  std::atomic<bool> installed_ = false;  // and not removed since, except by the end of its thread
  std::atomic<bool> left_ = false;       // set by the first to go while it is installed, the thread or the owner
};

/// Whether one from `top` down owns the symbol; else what it stood for is gone.
bool is_live(const Tensor& symbol, const Interpreter* top = Interpreter::top());

/// Every op call: adapts literals to the tensors beside them, then asks the top of the stack. Appends the results to `outputs` (empty before), or throws and changes nothing.
void apply(Call call, Tensors& outputs);
/// The same for rows with one output.
Tensor apply_one(const Op& op, std::span<Tensor> inputs, AttrSpan attrs, Location at);

/// Throws the error being handled again, as one of `op`, called at `at`: what its parts, shapes or memory refuse, it refuses.
/// `where` says which parts, if not those of an expanded row: "in its gradient ".
[[noreturn]] void rethrow_in_name_of(const Op& op, Location at, const std::string& where = {});

/// Whether a line is Weft's own: rows, gradients and optimizers are ordinary code, whose lines tell a program nothing.
bool is_own_line(Location at);

/// A scope in which Weft's own code makes calls for a line of the program: tapes and tracers remember that line instead.
class OnBehalf {
 public:
  explicit OnBehalf(Location at) : at_(at), before_(current_) {
    if (at.line != 0) current_ = this;
  }
  ~OnBehalf() { current_ = before_; }
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;
  /// The line to remember for a call: its own if that is the program's, or if there is no scope.
  static Location line(Location own) { return current_ != nullptr && is_own_line(own) ? current_->at_ : own; }

 private:
  Location at_;
  OnBehalf* before_;
  static thread_local constinit OnBehalf* current_;
};

/// Checks a call against its row: dtypes, attributes, then `.infer`.
/// Returns the Specs of the outputs. The same in every mode.
Specs check(const Call& call);

/// A scope in which other calls stand for one that has been checked: tells the interpreters of it, if some size is unknown or `results` are wanted.
class InPlaceOf {
 public:
  explicit InPlaceOf(const Call& call, Tensors* results = nullptr);
  ~InPlaceOf() {
    if (told_ != nullptr) told_->stood_for();
  }
  InPlaceOf(const InPlaceOf&) = delete;
  InPlaceOf& operator=(const InPlaceOf&) = delete;

 private:
  Interpreter* told_ = nullptr;
};

/// Checks a call that does not run, since others stand for it or nobody needs it, and tells the interpreters of it as InPlaceOf does. Nothing
/// is computed. With `results` symbols of the results are appended, which only other rules may read.
void apply_rule(const Call& call, Tensors* results = nullptr);

/// Makes the parts of a row that expands, in the interpreter that is the top now. REQUIRES: the call has been checked.
void apply_parts(const Call& call, Tensors& outputs);

/// Looks at the data of a call, if its row asks for that and every input has data. Throws what `.validate` throws.
void validate(const Call& call, const Specs& specs);

/// Runs a call now. REQUIRES: every input is concrete.
void apply_eagerly(const Call& call, Tensors& outputs);

/// The shortest way through a pointwise op: inputs of one dtype and shape, nothing to adapt, broadcast, widen or look at first.
/// Returns an empty handle, having done nothing, if the call is not of that kind. REQUIRES: every handle is defined.
Tensor apply_dense_pointwise(const Op& op, std::span<Tensor> inputs);

}  // namespace weft::inline v0
