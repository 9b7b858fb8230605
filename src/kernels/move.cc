#include "kernels/move.h"

#include <algorithm>
#include <cstring>

#include "base/pool.h"

namespace weft::inline v0::kernels {
namespace {

// A box in its simplest form: no axes of size 1, neighbours merged where both sides allow it. Strides count bytes.
struct Box {
  int rank = 0;
  std::int64_t sizes[kMaxBoxRank], from[kMaxBoxRank], to[kMaxBoxRank];

  void append(std::int64_t size, std::int64_t from_stride, std::int64_t to_stride) {
    if (size == 1) return;
    if (rank > 0 && from[rank - 1] == from_stride * size && to[rank - 1] == to_stride * size) {
      sizes[rank - 1] *= size;
      from[rank - 1] = from_stride;
      to[rank - 1] = to_stride;
      return;
    }
    sizes[rank] = size;
    from[rank] = from_stride;
    to[rank] = to_stride;
    ++rank;
  }
  void remove(int axis) {
    for (int a = axis; a + 1 < rank; ++a) {
      sizes[a] = sizes[a + 1];
      from[a] = from[a + 1];
      to[a] = to[a + 1];
    }
    --rank;
  }
};

// Visits every position of the box's axes, the last one fastest.
template <class F>
void walk(const Box& box, const char* from, char* to, const F& visit) {
  std::int64_t index[kMaxBoxRank] = {};
  while (true) {
    visit(from, to);
    int axis = box.rank - 1;
    for (; axis >= 0; --axis) {
      from += box.from[axis];
      to += box.to[axis];
      if (++index[axis] < box.sizes[axis]) break;
      from -= box.from[axis] * box.sizes[axis];
      to -= box.to[axis] * box.sizes[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

template <std::size_t kBytes>
void copy_line(const char* from, std::int64_t from_stride, char* to, std::int64_t to_stride, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) std::memcpy(to + k * to_stride, from + k * from_stride, kBytes);
}

template <std::size_t kBytes>
void copy_elements(Box box, const char* from, char* to) {
  const int last = box.rank - 1;
  const std::int64_t size = box.sizes[last], from_stride = box.from[last], to_stride = box.to[last];
  box.remove(last);
  if (from_stride == kBytes && to_stride == kBytes)
    return walk(box, from, to, [&](const char* f, char* t) { std::memcpy(t, f, static_cast<std::size_t>(size) * kBytes); });
  // A transpose reads along one axis and writes along another: squares of them stay in the first cache.
  int reading = -1;
  for (int axis = 0; axis < box.rank; ++axis)
    if (box.from[axis] == kBytes) reading = axis;
  if (reading < 0 || to_stride != kBytes)
    return walk(box, from, to, [&](const char* f, char* t) { copy_line<kBytes>(f, from_stride, t, to_stride, size); });
  const std::int64_t rows = box.sizes[reading], to_row = box.to[reading];
  box.remove(reading);
  constexpr std::int64_t kSide = kBytes == 8 ? 32 : 64;
  walk(box, from, to, [&](const char* f, char* t) {
    for (std::int64_t row = 0; row < rows; row += kSide)
      for (std::int64_t column = 0; column < size; column += kSide)
        for (std::int64_t r = row; r < std::min(row + kSide, rows); ++r)
          copy_line<kBytes>(f + r * static_cast<std::int64_t>(kBytes) + column * from_stride, from_stride,
                            t + r * to_row + column * to_stride, to_stride, std::min(kSide, size - column));
  });
}

constexpr std::int64_t kPartBytes = std::int64_t{64} << 10;  // what is worth a thread's while

// Falls into parts along the outermost axis, whose elements are apart on the side that is written.
template <std::size_t kBytes>
void copy_parts(const Box& box, const char* from, char* to) {
  std::int64_t bytes = kBytes;
  for (int axis = 0; axis < box.rank; ++axis) bytes *= box.sizes[axis];
  if (bytes < 4 * kPartBytes) return copy_elements<kBytes>(box, from, to);
  const std::int64_t grain = std::max<std::int64_t>(1, kPartBytes / (bytes / box.sizes[0]));
  parallel_ranges(box.sizes[0], grain, [&](std::int64_t begin, std::int64_t end) {
    Box part = box;
    part.sizes[0] = end - begin;
    copy_elements<kBytes>(part, from + begin * box.from[0], to + begin * box.to[0]);
  });
}

// Calls copy(part, of, count) for runs of `count` bytes: of part `part` of some row, and of the whole from byte `of` on. However many parts there
// are, and however long they are, the whole falls into equal pieces.
template <class Byte, class Copy>
void each_run(std::span<const RowPart<Byte>> parts, std::size_t rows, const Copy& copy) {
  std::size_t width = 0;
  for (const RowPart<Byte>& part : parts) width += part.bytes;
  const auto total = static_cast<std::int64_t>(rows * width);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    auto of = static_cast<std::size_t>(begin), left = static_cast<std::size_t>(end - begin), row = of / width, at = of % width, p = std::size_t{0};
    while (at >= parts[p].bytes) at -= parts[p++].bytes;
    while (left > 0) {
      const std::size_t count = std::min(left, parts[p].bytes - at);
      if (count > 0) copy(parts[p].data + row * parts[p].bytes + at, of, count);
      of += count, left -= count, at = 0;
      if (++p == parts.size()) p = 0, ++row;
    }
  };
  if (total == 0) return;
  if (total < 4 * kPartBytes) run(0, total);
  else parallel_ranges(total, kPartBytes, run);
}

template <class T>
void add(T* from, const std::int64_t* from_strides, const T* to, const std::int64_t* to_strides, std::span<const Pieces> axes) {
  for_each_box(axes, from_strides, to_strides, [&](std::int64_t f, std::int64_t t, const std::int64_t* steps, const std::int64_t* sizes) {
    Box box;
    for (std::size_t a = 0; a < axes.size(); ++a) box.append(sizes[a], to_strides[a], steps[a]);
    for (int a = 0; a < box.rank; ++a) {
      box.from[a] *= static_cast<std::int64_t>(sizeof(T));
      box.to[a] *= static_cast<std::int64_t>(sizeof(T));
    }
    walk(box, reinterpret_cast<const char*>(to + t), reinterpret_cast<char*>(from + f),
         [](const char* dy, char* dx) { *reinterpret_cast<T*>(dx) += *reinterpret_cast<const T*>(dy); });
  });
}

// Calls move(space_offset, blocks_offset, sizes, space_strides, blocks_strides) for every offset inside a block that has elements.
template <class F>
void for_each_block(const BlockGrid& grid, const F& move) {
  const int rank = grid.rank + 2;
  std::int64_t space_strides[kMaxBoxRank], blocks_strides[kMaxBoxRank], sizes[kMaxBoxRank], offset[kMaxBoxRank] = {};
  std::int64_t space_stride = grid.inner, blocks_stride = grid.inner, count = 1;
  sizes[rank - 1] = grid.inner;
  space_strides[rank - 1] = blocks_strides[rank - 1] = 1;
  for (int a = grid.rank; a > 0; --a) {
    space_strides[a] = space_stride * grid.block[a - 1];
    blocks_strides[a] = blocks_stride;
    space_stride *= grid.space[a - 1];
    blocks_stride *= grid.blocks[a - 1];
    count *= grid.block[a - 1];
  }
  sizes[0] = grid.batch;
  space_strides[0] = space_stride;
  blocks_strides[0] = blocks_stride;
  for (std::int64_t block = 0; block < count; ++block) {
    std::int64_t from = 0, to = block * grid.batch * blocks_stride;
    bool empty = false;
    for (int a = 0; a < grid.rank; ++a) {
      // The first p with p * block + offset >= before, and the first whose place is beyond the end.
      const std::int64_t size = grid.block[a], lack = grid.before[a] - offset[a];
      const std::int64_t first = lack <= 0 ? 0 : (lack - 1) / size + 1;
      const std::int64_t room = grid.space[a] + lack;
      const std::int64_t end = room <= 0 ? 0 : std::min((room - 1) / size + 1, grid.blocks[a]);
      sizes[a + 1] = end - first;
      empty = empty || end <= first;
      if (empty) break;
      from += (first * size - lack) * (space_strides[a + 1] / size);
      to += first * blocks_strides[a + 1];
    }
    if (!empty) move(from, to, sizes, space_strides, blocks_strides);
    for (int a = grid.rank - 1; a >= 0 && ++offset[a] == grid.block[a]; --a) offset[a] = 0;
  }
}

}  // namespace

void copy_box(const void* from, const std::int64_t* from_strides, void* to, const std::int64_t* to_strides, const std::int64_t* sizes,
              int rank, std::size_t element_size) {
  Box box;
  const auto bytes = static_cast<std::int64_t>(element_size);
  for (int axis = 0; axis < rank; ++axis) {
    if (sizes[axis] == 0) return;
    if (sizes[axis] > 1) box.append(sizes[axis], from_strides[axis] * bytes, to_strides[axis] * bytes);
  }
  const char* f = static_cast<const char*>(from);
  char* t = static_cast<char*>(to);
  if (box.rank == 0) {
    std::memcpy(t, f, element_size);
    return;
  }
  switch (element_size) {
    case 1: return copy_parts<1>(box, f, t);
    case 2: return copy_parts<2>(box, f, t);
    case 4: return copy_parts<4>(box, f, t);
    default: return copy_parts<8>(box, f, t);
  }
}

void copy_rows(const void* from, std::size_t from_stride, void* to, std::size_t to_stride, std::size_t rows, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t grain = std::max<std::size_t>(1, static_cast<std::size_t>(kPartBytes) / bytes);
  parallel_ranges(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(grain), [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row)
      std::memcpy(static_cast<char*>(to) + row * to_stride, static_cast<const char*>(from) + row * from_stride, bytes);
  });
}

void join_rows(std::span<const RowPart<const char>> parts, std::size_t rows, char* whole) {
  each_run(parts, rows, [&](const char* part, std::size_t of, std::size_t count) { std::memcpy(whole + of, part, count); });
}
void cut_rows(const char* whole, std::size_t rows, std::span<const RowPart<char>> parts) {
  each_run(parts, rows, [&](char* part, std::size_t of, std::size_t count) { std::memcpy(part, whole + of, count); });
}

void copy_pieces(const void* from, const std::int64_t* from_strides, void* to, const std::int64_t* to_strides,
                 std::span<const Pieces> axes, std::size_t element_size) {
  const auto bytes = static_cast<std::int64_t>(element_size);
  for_each_box(axes, from_strides, to_strides, [&](std::int64_t f, std::int64_t t, const std::int64_t* steps, const std::int64_t* sizes) {
    copy_box(static_cast<const char*>(from) + f * bytes, steps, static_cast<char*>(to) + t * bytes, to_strides, sizes,
             static_cast<int>(axes.size()), element_size);
  });
}

void add_pieces(float* from, const std::int64_t* from_strides, const float* to, const std::int64_t* to_strides,
    std::span<const Pieces> axes) {
  add(from, from_strides, to, to_strides, axes);
}
void add_pieces(double* from, const std::int64_t* from_strides, const double* to, const std::int64_t* to_strides,
    std::span<const Pieces> axes) {
  add(from, from_strides, to, to_strides, axes);
}

void space_to_blocks(const void* space, void* blocks, const BlockGrid& grid, std::size_t element_size) {
  const auto bytes = static_cast<std::int64_t>(element_size);
  for_each_block(grid, [&](std::int64_t s, std::int64_t b, const std::int64_t* sizes, const std::int64_t* space_strides,
      const std::int64_t* blocks_strides) {
    copy_box(static_cast<const char*>(space) + s * bytes, space_strides, static_cast<char*>(blocks) + b * bytes, blocks_strides, sizes,
             grid.rank + 2, element_size);
  });
}

void blocks_to_space(const void* blocks, void* space, const BlockGrid& grid, std::size_t element_size) {
  const auto bytes = static_cast<std::int64_t>(element_size);
  for_each_block(grid, [&](std::int64_t s, std::int64_t b, const std::int64_t* sizes, const std::int64_t* space_strides,
      const std::int64_t* blocks_strides) {
    copy_box(static_cast<const char*>(blocks) + b * bytes, blocks_strides, static_cast<char*>(space) + s * bytes, space_strides, sizes,
             grid.rank + 2, element_size);
  });
}

}  // namespace weft::inline v0::kernels
