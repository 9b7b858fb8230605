#include "ops/table.h"

#include <algorithm>

#include "core/infer.h"
#include "ops/batch.h"
#include "ops/families.h"

namespace weft::inline v0 {
namespace {

struct Table {
  std::vector<Family> families = rows::all_families();
  std::vector<const Op*> flat;
  bool current = true;  // src/ops/generated/ was made for these rows

  Table() {
    for (Family& family : families)
      for (Op& op : family.rows) {
        complete(op);
        flat.push_back(&op);
      }
    current = flat.size() == kGeneratedCount;
    for (std::size_t i = 0; current && i < flat.size(); ++i) current = std::string_view(flat[i]->name) == kGeneratedNames[i];
  }

  const Op* find(std::string_view name) const {
    const auto at = std::find_if(flat.begin(), flat.end(), [&](const Op* op) { return op->name == name; });
    return at == flat.end() ? nullptr : *at;
  }

  // What a row leaves unsaid.
  static void complete(Op& op) {
    if (op.tile) {
      if (op.infer == nullptr) op.infer = infer::pointwise;
      if (op.batch == nullptr) op.batch = rows::batch::broadcast;
      if (op.inputs.size() > 1) op.traits = op.traits | kBroadcasts;
      if (op.dtypes == 0)
        for (int t = 0; t < kNumDTypes; ++t)
          if (op.tile.for_dtype(static_cast<DType>(t)) != nullptr) op.dtypes = static_cast<DTypes>(op.dtypes | bit(static_cast<DType>(t)));
    }
    op.of_one_dtype = std::all_of(op.inputs.begin(), op.inputs.end(), [](const Input& input) { return input.type == Input::Type::kCommon; });
    op.dense_pointwise = op.tile && op.attrs.empty() && op.infer == infer::pointwise && op.validate == nullptr && !op.list_input();
    if (op.validate != nullptr) op.traits = op.traits | kMayFail;
    const int bodies = (op.tile ? 1 : 0) + (op.kernel != nullptr) + (op.expand != nullptr) + (op.update != nullptr) + (op.is(kView) ? 1 : 0);
    if (bodies != 1 || op.infer == nullptr)
      throw InternalError(std::string(op.name) + ": a row needs .infer and exactly one body");
  }
};

const Table& table() {
  static const Table& instance = *new Table;  // never destroyed: static objects and threads may call ops until the very end
  return instance;
}

}  // namespace

const std::vector<Family>& families() { return table().families; }
std::size_t row_count() { return table().flat.size(); }

const Op& row_at(std::size_t family, std::size_t position) {
  const Table& t = table();
  if (!t.current) throw InternalError("the generated op functions are older than the rows; run ./scripts/generate");
  return t.families[family].rows[position];
}

const Op* find_row(std::string_view name) { return table().find(name); }

}  // namespace weft::inline v0
