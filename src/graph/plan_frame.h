// Plan::Frame: what a plan has for one call at a time. The arena, where every value lies, and a Node for each one that kernels see as a Tensor.
#pragma once

#include <new>

#include "base/memory.h"
#include "graph/plan.h"

namespace weft::inline v0 {

struct Plan::Frame {
  explicit Frame(const Plan& plan) : values(plan.values_.size()), data(plan.values_.size() + plan.params_.size()) {
    for (std::size_t i = 0; i < plan.params_.size(); ++i) data[values.size() + i] = const_cast<double*>(&plan.params_[i]);
    if (plan.arena_ > 0) {
      arena.block = allocate_block(plan.arena_);
      if (arena.block.start == nullptr) throw std::bad_alloc();
    }
    for (std::size_t v = 0; v < values.size(); ++v) {
      const Value& root = plan.values_[plan.values_[v].root];
      if (root.place == Place::kDynamic || root.place == Place::kLate || (root.place == Place::kNone && plan.unread_[v])) continue;
      if (plan.by_handle_[v]) values[v] = Tensor(new Node(plan.values_[v].spec));
      if (root.place == Place::kArena) bind(v, static_cast<char*>(arena.block.start) + root.at);
      if (root.place == Place::kConstant) bind(v, plan.graph_.constants[root.at].value.node()->data);
    }
  }
  void bind(std::size_t v, void* at) {
    data[v] = at;
    if (Node* const node = values[v].node()) node->data = at;
  }

  struct Arena {
    ~Arena() {
      if (block.start != nullptr) free_block(block);
    }
    Block block{};
  } arena;
  std::vector<Tensor> values;
  std::vector<void*> data;  // of the values, then of the numbers
  std::vector<Tensor> escaping;
};

}  // namespace weft::inline v0
