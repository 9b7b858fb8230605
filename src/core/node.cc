#include "core/node.h"

#include <cstddef>
#include <new>

namespace weft::inline v0 {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kKept = 0;  // sanitizers see every allocation
#else
constexpr int kKept = 1024;
#endif

// Free blocks of the thread, linked through their first word. Trivially destructible, so that it can be used while static Tensors
// die after the thread's other objects; `closed` then sends their memory straight back.
struct FreeList {
  void* first;
  int count;
  bool closed;
};
__attribute__((tls_model("initial-exec"))) thread_local FreeList free_list{};

struct Closer {
  ~Closer() {
    free_list.closed = true;
    while (free_list.first != nullptr) {
      void* block = free_list.first;
      std::memcpy(&free_list.first, block, sizeof(void*));
      ::operator delete(block);
    }
    free_list.count = 0;
  }
};

}  // namespace

void* Node::operator new(std::size_t bytes) {
  FreeList& list = free_list;
  if (list.first == nullptr) return ::operator new(bytes);
  void* block = list.first;
  std::memcpy(&list.first, block, sizeof(void*));
  --list.count;
  return block;
}

void Node::operator delete(void* block) {
  FreeList& list = free_list;
  if (list.count >= kKept || list.closed) return ::operator delete(block);
  if (list.count == 0) {
    static thread_local Closer closer;
    static_cast<void>(closer);
  }
  std::memcpy(block, &list.first, sizeof(void*));
  list.first = block;
  ++list.count;
}

Literal Node::number() const {
  Literal result;
  std::memcpy(&result.integer, inline_data + 8, 8);
  result.kind = kind_of(spec.dtype);
  result.wide = spec.dtype == u64;
  return result;
}

static_assert(std::is_standard_layout_v<Node>);
// Where a debugger finds what it shows (tools/gdb/weft_gdb.py): a library without full debug information, or a core file, has no
// other description of Node. Shape's vector starts with its inline sizes; behind them come the pointer and the count.
constexpr std::size_t kShapeAt = offsetof(Node, spec) + offsetof(Spec, shape);
extern WEFT_API const std::int32_t kNodeLayout[];
const std::int32_t kNodeLayout[] = {
    static_cast<std::int32_t>(offsetof(Node, spec) + offsetof(Spec, dtype)),
    static_cast<std::int32_t>(kShapeAt + 6 * sizeof(std::int64_t)),
    static_cast<std::int32_t>(kShapeAt + 6 * sizeof(std::int64_t) + sizeof(void*)),
    static_cast<std::int32_t>(offsetof(Node, data)),
    static_cast<std::int32_t>(offsetof(Node, symbolic)),
};

}  // namespace weft::inline v0
