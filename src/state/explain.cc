// Sources without a gradient: what the caller wants instead, or why there is none.
#include "state/recorder.h"

#include "state/transaction.h"
#include <weft/ops.h>

namespace weft::inline v0 {
namespace {

constexpr const char* kIfMeant = "ask for {.unconnected = Unconnected::kZeros} or kNone if that is meant.";

std::string call_text(const TapeRecord& record) {
  const std::string place = record.at.line > 0 ? " at " + place_text(record.at) : "";
  return record.op->name + place;
}

}  // namespace

std::string title_of(const Source& source) {
  if (source.tensor() != nullptr) return source.tensor()->spec().str();
  return source.variable()->slot()->title() + " " + source.variable()->spec().str();
}

bool TapeRecorder::Cut::integer() const {
  if (broken == nullptr) return false;
  for (const Tensor& output : broken->outputs())
    if (is_floating(output.dtype())) return false;
  return true;
}

// One pass forward: a value is marked with the first call on a way from the source to it through which no gradient flows. Ways without
// such a call win, so the mark of the target says that there are no others.
TapeRecorder::Cut TapeRecorder::find_cut(const Question& question, const Source& source) const {
  constexpr std::int32_t kNotReached = -2, kReached = -1;  // else the number of the record
  std::vector<std::int32_t> flowing(static_cast<std::size_t>(next_id_), kNotReached);
  std::vector<std::int32_t> rest(static_cast<std::size_t>(-next_broken_), kNotReached);
  const auto mark = [&](std::int32_t id) -> std::int32_t& {
    return id >= 0 ? flowing[static_cast<std::size_t>(id)] : rest[static_cast<std::size_t>(-id)];
  };
  for (const std::int32_t id : ids_of(source))
    if (id != kUnknownId) mark(id) = kReached;
  for (std::size_t r = 0; r < records_.size(); ++r) {
    const TapeRecord& record = records_[r];
    std::int32_t before = kNotReached;
    for (const std::int32_t id : record.input_ids()) {
      const std::int32_t here = id == kUnknownId ? kNotReached : mark(id);
      if (here == kReached || before == kNotReached) before = here;
      if (before == kReached) break;
    }
    if (before == kNotReached) continue;
    for (const std::int32_t id : record.output_ids())
      if (mark(id) == kNotReached) mark(id) = before == kReached && id < 0 ? static_cast<std::int32_t>(r) : before;
  }
  Cut cut;
  for (const Tensor& target : question.targets) {
    const std::int32_t id = ids_.find(key_of(target)), here = id == kUnknownId ? kNotReached : mark(id);
    cut.depends = cut.depends || here != kNotReached;
    if (here >= 0 && cut.broken == nullptr) cut.broken = &records_[static_cast<std::size_t>(here)];
  }
  return cut;
}

Grad TapeRecorder::unconnected(const Question& question, const Source& source) const {
  const Unconnected mode = question.mode();
  if (mode == Unconnected::kZeros)
    return zeros_like(source.tensor() != nullptr ? *source.tensor() : v0::read(source.variable()->slot(), question.at));
  const bool by_default = question.tree && !question.options.unconnected;
  if (mode == Unconnected::kNone && !(by_default && next_broken_ != -2)) return {};
  const Cut cut = find_cut(question, source);
  const bool integer = source.variable() != nullptr && !is_floating(source.variable()->dtype());
  if (mode == Unconnected::kNone && !(integer ? cut.depends : cut.integer())) return {};
  if (integer) refuse_integer(question, *source.variable());
  explain(question, source, cut);
}

void TapeRecorder::explain(const Question& question, const Source& source, const Cut& cut) const {
  const auto say = [&](const std::string& sentence) { throw GradientError(question.name, sentence, question.at); };
  const std::string title = "source " + title_of(source), independent = "the target does not depend on " + title;
  if (source.tensor() != nullptr && !follows(*source.tensor()))
    say(independent + ", which this tape does not watch; call watch on it before computing.");
  if (cut.broken != nullptr) {
    const std::string only = "the target depends on " + title + " only through " + call_text(*cut.broken);
    if (cut.integer())
      say(only + ", which gives " + cut.broken->outputs()[0].spec().str() +
          ", and integers have no gradient; keep the path floating, or " + kIfMeant);
    say(only + ", through which no gradient flows; use another op, or " + kIfMeant);
  }
  if (const Variable* variable = source.variable()) {
    const WatchedSlot* const slot = find_slot(variable->slot()->id);
    if (slot == nullptr && !settings.watch_accessed_variables)
      say(independent + ", which this tape does not watch, since it watches only what it is told to; call watch on it before computing.");
    if (slot == nullptr && !variable->trainable())
      say(independent + ", which this tape does not watch, since it is not trainable; call watch on it before computing.");
    if (slot == nullptr || slot->reads.empty())
      say(independent + ", which was not read while this tape recorded; read it after the tape is made, or " + kIfMeant);
  }
  throw GradientError(question.name, independent + " through differentiable ops; " + kIfMeant, question.at);
}

void TapeRecorder::refuse_integer(const Question& question, const Variable& variable) const {
  std::string through;
  const Source source(variable);
  if (const Cut cut = find_cut(question, source); cut.depends) {  // the first call that it went into
    const SmallVector<std::int32_t, 1> ids = ids_of(source);
    for (std::size_t r = 0; r < records_.size() && through.empty(); ++r)
      for (const std::int32_t input : records_[r].input_ids())
        for (const std::int32_t id : ids)
          if (id == input && through.empty()) through = ", and " + call_text(records_[r]) + " uses it";
  }
  const char* const remedy = "; only floating values have gradients, make it a floating Variable, such as Variable{0.f}.";
  throw GradientError(question.name, "source " + title_of(source) + " holds integers" + through + remedy, question.at);
}

}  // namespace weft::inline v0
