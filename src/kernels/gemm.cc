#include "kernels/gemm.h"

#include <algorithm>
#include <memory>

#include <weft/error.h>

#include "base/pool.h"
#include "kernels/gemm_parts.h"
#include "kernels/gemm_tiles.h"
#include "kernels/move.h"
#include "kernels/scratch.h"

namespace weft::inline v0::kernels {

using Size = std::int64_t;

template <class T>
void gemm_reference(Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) {
      Sum<T> sum = 0;
      for (Size p = 0; p < k; ++p)
        sum += static_cast<Sum<T>>(a.data[i * a.row + p * a.col]) * static_cast<Sum<T>>(b.data[p * b.row + j * b.col]);
      c.data[i * c.row + j * c.col] = static_cast<T>(sum);
    }
}

namespace {

template <class T>
Matrix<T> transposed(Matrix<T> x) {
  return {x.data, x.col, x.row};
}

// Products (of numbers) below which one thread is faster than two.
constexpr Size kSerial = 64 * 64 * 64;
// Products up to which one call of the kernel does it all.
constexpr Size kSmall = 40 * 40 * 40;
// Products up to which factors are read as they lie whatever their strides: they stay in the caches. Rows of a, of which a tile reads a few side
// by side, are for longer: packing them is a pass of its own for all threads.
constexpr Size kLight = 160 * 160 * 160, kLightRows = 288 * 288 * 288;
// Elements of b from which few rows of a stream it, and rows of it at a time.
constexpr Size kStreamed = 1 << 18, kStreamDepth = 32;
// Elements of a factor that are packed at a time.
constexpr Size kPacked = 4 << 20;

// `total` lines in `count` pieces of nearly equal size, each but the last a multiple of `unit`.
struct Shares {
  Size total, unit, count;
  Size start(Size i) const { return std::min(total, parts_of(total, unit) * i / count * unit); }
  Size size(Size i) const { return start(i + 1) - start(i); }
};

template <class Body>
void run(bool serial, Size chunks, const Body& body) {
  if (!serial) return parallel_for(chunks, body);
  for (Size i = 0; i < chunks; ++i) body(i);
}

template <class T>
const GemmTiles<T>& tiles_of(const GemmKernels& kernels) {
  if constexpr (std::same_as<T, float>) return kernels.f32;
  else return kernels.f64;
}

template <class T, class S>
constexpr Stored stored_as() {
  return std::same_as<T, S> ? Stored::kAsComputed : std::same_as<S, float16> ? Stored::kF16 : Stored::kBF16;
}

// How rows and columns fall into tasks. Many rows: pieces of them that stay in the second-level cache while all columns pass by, so that a task
// packs its rows itself and finds them there; an even number of pieces. Otherwise pieces of both, then smaller ones until there are enough of
// them; a product of few rows reads long runs of b instead, once.
void split(Shares& rows, Shares& cols, Size products) {
  constexpr Size kRowsForTwo = 60, kPieceRows = 184, kManyPieces = 5;
  if (const Size pieces = parts_of(rows.total, kPieceRows); pieces >= kManyPieces) {
    rows.count = round_up(pieces, 2);
    return;
  }
  const Size broad = rows.total <= 2 * rows.unit ? 4 : 1;
  rows.count = parts_of(rows.total, 16 * rows.unit);
  cols.count = parts_of(cols.total, 16 * broad * cols.unit);
  const Size wanted = std::clamp<Size>(products >> 18, 2, 12);
  while (rows.count * cols.count < wanted) {
    const bool rows_can = rows.total / rows.count >= 12 * rows.unit, cols_can = cols.total / cols.count >= 8 * broad * cols.unit;
    if (!rows_can && !cols_can) {
      if (rows.count * cols.count == 1 && rows.total >= kRowsForTwo) rows.count = 2;  // rather low pieces than one thread
      return;
    }
    const bool by_rows = !cols_can || (rows_can && rows.total / rows.count > cols.total / cols.count);
    (by_rows ? rows : cols).count *= 2;
  }
}

// What becomes of a factor before it is multiplied.
enum class Packing : unsigned char {
  kNone,    // the tiles read it as it lies
  kInTask,  // each task packs what it needs: only one needs it
  kShared,  // it is packed as a whole first
};

template <class T>
LeftBlock<T> as_it_lies(Matrix<const T> a) {
  if (a.col == 1) return {LeftBlock<T>::kRows, a.data, a.row};
  return {LeftBlock<T>::kColumns, a.data, a.col};
}

// Rows of b up to so many panels apart are near each other.
constexpr Size kNear = 16;
// By measurement: packing a pays where lines are read often, or where they are far apart. Rows of b are never packed beforehand: the first strip of
// each task does it in passing.
template <class T>
bool left_as_it_lies(const GemmTiles<T>& tiles, Size m, Size n, Matrix<const T> a, Size products) {
  // Lines that lie so compete for the same few places of the first-level cache, which are too few for a strip of more rows.
  constexpr Size kCompeting = 4096, kPlaces = 8, kShortLine = 2048, element = sizeof(T);
  const Size strip = parts_of(m, parts_of(m, tiles.rows));
  const bool compete = strip > kPlaces && a.row * element % kCompeting == 0;
  if (a.col == 1) return !compete && (products <= kLightRows || n * element <= kShortLine);
  return a.row == 1 && (products <= kLight || a.col <= 4 * tiles.cols);
}

// Tasks are pieces of c; each adds up all of k, block by block.
template <class T, class S>
void tiled_product(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const S> a, Matrix<const S> b, T* c, Size c_row, const BlockDone* done) {
  constexpr Stored stored = stored_as<T, S>();
  const bool serial = m * n * k < kSerial;
  const bool light = m * n * k <= kLight;
  // Few rows of a cannot hide what a large b costs: it is read in long runs of few rows, which memory likes best.
  const bool streams = std::same_as<T, S> && m <= 2 * tiles.rows && b.col == 1 && n * k >= kStreamed;
  const Shares depths{k, 1, parts_of(k, streams ? kStreamDepth : tiles.depth)};
  Shares rows{m, tiles.rows, 1}, cols{n, tiles.cols, 1};
  if (!serial) split(rows, cols, m * n * k);
  Packing pack_a = cols.count == 1 ? Packing::kInTask : Packing::kShared, pack_b = rows.count == 1 ? Packing::kInTask : Packing::kShared;
  if constexpr (std::same_as<T, S>) {
    if (left_as_it_lies(tiles, m, n, a, m * n * k)) pack_a = Packing::kNone;
    if (b.col == 1) pack_b = Packing::kNone;
  }

  // The first strip of rows leaves a panel of b packed behind it: its lines may lie so that they compete for a few places of the cache.
  const bool copies = pack_b == Packing::kNone && !light && m > tiles.rows && b.row > kNear * tiles.cols;

  // A packed factor holds its blocks of k one after the other, each in strips or panels.
  const Size width = round_up(n, tiles.cols);
  const ScratchOf<T> shared_a(pack_a == Packing::kShared ? m * k : 0), shared_b(pack_b == Packing::kShared ? width * k : 0);
  const auto pack_left = [&](Size d, Size r, T* to) {
    const Size i = rows.start(r), p = depths.start(d);
    tiles.pack_left(stored, a.data + i * a.row + p * a.col, a.row, a.col, rows.size(r), depths.size(d), to);
  };
  const auto pack_right = [&](Size d, Size q, T* to) {
    const Size j = cols.start(q), p = depths.start(d);
    tiles.pack_right(stored, b.data + p * b.row + j * b.col, b.col, b.row, cols.size(q), depths.size(d), to);
  };
  const auto left_at = [&](Size d, Size r) { return shared_a.get() + depths.start(d) * m + rows.start(r) * depths.size(d); };
  const auto right_at = [&](Size d, Size q) { return shared_b.get() + depths.start(d) * width + cols.start(q) * depths.size(d); };

  const Size left_parts = pack_a == Packing::kShared ? rows.count : 0, right_parts = pack_b == Packing::kShared ? cols.count : 0;
  const Size parts = left_parts + right_parts;
  if (parts > 0)
    run(serial, depths.count * parts, [&](Size task) {
      const Size d = task / parts, part = task % parts;
      if (part < left_parts) pack_left(d, part, left_at(d, part));
      else pack_right(d, part - left_parts, right_at(d, part - left_parts));
    });
  run(serial, rows.count * cols.count, [&](Size task) {
    const Size r = task % rows.count, q = task / rows.count, i = rows.start(r), j = cols.start(q), most = depths.size(depths.count - 1);
    const ScratchOf<T> own_a(pack_a == Packing::kInTask ? rows.size(r) * most : 0);
    const ScratchOf<T> own_b(pack_b == Packing::kInTask ? round_up(cols.size(q), tiles.cols) * most : copies ? tiles.cols * most : 0);
    for (Size d = 0; d < depths.count; ++d) {
      const Size p = depths.start(d), depth = depths.size(d);
      LeftBlock<T> left{LeftBlock<T>::kPacked, nullptr, 0};
      RightBlock<T> right{nullptr, tiles.cols, tiles.cols * depth, true};
      if (pack_a == Packing::kInTask) pack_left(d, r, own_a.get());
      if (pack_b == Packing::kInTask) pack_right(d, q, own_b.get());
      if (pack_a != Packing::kNone) left.data = pack_a == Packing::kShared ? left_at(d, r) : own_a.get();
      if (pack_b != Packing::kNone) right.data = pack_b == Packing::kShared ? right_at(d, q) : own_b.get();
      if constexpr (std::same_as<T, S>) {
        if (pack_a == Packing::kNone) left = as_it_lies<T>({a.data + i * a.row + p * a.col, a.row, a.col});
        if (pack_b == Packing::kNone) right = {b.data + p * b.row + j, b.row, tiles.cols, false, copies ? own_b.get() : nullptr};
      }
      tiles.multiply(rows.size(r), cols.size(q), depth, left, right, c + i * c_row + j, c_row, d > 0);
    }
    if (done != nullptr) (*done)({c + i * c_row + j, rows.size(r), cols.size(q), c_row});
  });
}

// A large b would come from far away for each piece of rows. Here groups of its columns are tasks: a group, packed, stays in the second-level cache of
// a thread while many rows pass by, packed as well, strip by strip, for which the tiles ask ahead. Its sums are long, so that c passes by but rarely.
constexpr Size kGroupDepth = 1024;
template <class T, class S>
void grouped_product(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const S> a, Matrix<const S> b, T* c, Size c_row, const BlockDone* done) {
  constexpr Stored stored = stored_as<T, S>();
  constexpr Size kTasks = 16, kFewGroups = 8, kManyRows = 1024, kManyRowsOfFew = 256;  // by measurement
  const Size together = 4 * tiles.rows;  // rows that are packed together
  const Shares depths{k, 1, parts_of(k, kGroupDepth)};
  const Size deepest = depths.size(depths.count - 1);
  const Shares cols{n, tiles.cols, round_up(parts_of(n, tiles.group / deepest), 2)};
  const Shares rows{m, together, std::clamp<Size>(std::min(kTasks / cols.count, m / (cols.count < kFewGroups ? kManyRowsOfFew : kManyRows)), 1, kTasks)};
  const ScratchOf<T> left(m * deepest);
  for (Size d = 0; d < depths.count; ++d) {
    const Size p = depths.start(d), depth = depths.size(d);
    parallel_for(parts_of(m, together), [&](Size part) {
      const Size begin = part * together, end = std::min(m, begin + together), step = end - begin == together ? together : tiles.rows;
      for (Size i = begin; i < end; i += step)
        tiles.pack_left(stored, a.data + i * a.row + p * a.col, a.row, a.col, std::min(step, end - i), depth, left.get() + i * depth);
    });
    parallel_for(rows.count * cols.count, [&](Size task) {
      const Size q = task % cols.count, j = cols.start(q), width = cols.size(q), end = rows.start(task / cols.count + 1);
      const ScratchOf<T> right(round_up(width, tiles.cols) * depth);
      tiles.pack_right(stored, b.data + p * b.row + j * b.col, b.col, b.row, width, depth, right.get());
      const RightBlock<T> panels{right.get(), tiles.cols, tiles.cols * depth, true};
      for (Size i = rows.start(task / cols.count), high; i < end; i += high) {
        high = std::min(tiles.rows, end - i);
        tiles.multiply(high, width, depth, {LeftBlock<T>::kPacked, left.get() + i * depth, 0}, panels, c + i * c_row + j, c_row, d > 0);
        if (done != nullptr && d + 1 == depths.count) (*done)({c + i * c_row + j, high, width, c_row});
      }
    });
  }
}

// Of a product the packed factors may not be needed all at once.
template <class T, class S>
void blocked_product(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const S> a, Matrix<const S> b, T* c, Size c_row, const BlockDone* done) {
  constexpr Size kRows = 512, kColumns = 512, kFar = 2 << 20;  // by measurement: enough for groups to be worth it
  if (m >= kRows && n >= kColumns && n * k >= kFar) {
    const Shares parts{m, tiles.rows, parts_of(m, kPacked / kGroupDepth)};
    for (Size part = 0, i = 0; part < parts.count; i = parts.start(++part))
      grouped_product<T, S>(tiles, parts.size(part), n, k, {a.data + i * a.row, a.row, a.col}, b, c + i * c_row, c_row, done);
    return;
  }
  const Size most = std::max<Size>(256, kPacked / k), most_rows = round_up(most, tiles.rows), most_cols = round_up(most, tiles.cols);
  for (Size i = 0; i < m; i += most_rows)
    for (Size j = 0; j < n; j += most_cols)
      tiled_product<T, S>(tiles, std::min(most_rows, m - i), std::min(most_cols, n - j), k, {a.data + i * a.row, a.row, a.col},
                          {b.data + j * b.col, b.row, b.col}, c + i * c_row + j, c_row, done);
}

// A large b whose rows lie across memory would have to be packed for the few rows of a. From the other side, c^T = b^T a^T, it is read as it
// lies, a is packed, and the result turned. By measurement: packing an element of b takes as long as some ten products, so that many rows and
// short sums gain nothing, and no more than kPadding products may be lost for each element where m does not fill the tiles.
template <class T>
bool better_turned(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b) {
  constexpr Size kFew = 128, kPadding = 8;
  return b.row == 1 && b.col != 1 && a.col == 1 && m <= kFew && 2 * m <= k && 4 * m <= n && round_up(m, tiles.cols) - m <= kPadding && m * n * k > kLight;
}
template <class T>
void turned_product(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, T* c, Size c_row, const BlockDone* done) {
  const Size most = round_up(kPacked / m, tiles.rows);  // columns of c that are turned at a time
  const ScratchOf<T> turned(std::min(n, most) * m);
  for (Size first = 0; first < n; first += most) {
    const auto turn_back = [&](const DoneBlock& block) {
      const T* const from = static_cast<const T*>(block.data);
      T* const to = c + (from - turned.get()) % m * c_row + first + (from - turned.get()) / m;
      const Size from_strides[] = {1, m}, to_strides[] = {c_row, 1}, sizes[] = {block.cols, block.rows};
      copy_box(from, from_strides, to, to_strides, sizes, 2, sizeof(T));
      if (done != nullptr) (*done)({to, block.cols, block.rows, c_row});
    };
    const BlockDone by_blocks(turn_back);
    blocked_product<T, T>(tiles, std::min(most, n - first), m, k, {b.data + first * b.col, b.col, 1}, transposed(a), turned.get(), m, &by_blocks);
  }
}

template <class T, class S>
void scatter(Size m, Size n, const T* from, Matrix<S> to) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) to.data[i * to.row + j * to.col] = static_cast<S>(from[i * n + j]);
}

constexpr Size kVectorTask = 1 << 16;  // products of a vector and a matrix: elements of the matrix in one task

// Few rows by a large matrix. Rows of b are read whole, a few at a time, which memory likes best: tasks are blocks of rows, and have sums of their own.
template <class T>
void rows_product(const GemmTiles<T>& tiles, Size m, Size n, Size k, const T* x, Size x_row, Size x_step, Matrix<const T> b, T* y, Size y_row) {
  // Up to `together` rows the sums of a line stay in the first-level cache. More have enough to do for each row of b to need few tasks, since
  // whatever adds up by itself has to be added to the rest.
  constexpr Size kTask = 1 << 20, kLeastDepth = 256;
  const bool together = m <= tiles.together;
  const Shares depths = together ? Shares{k, 4, std::clamp<Size>(n * k / kVectorTask, 1, std::min<Size>(16, parts_of(k, 64)))}
                                 : Shares{k, 64, std::min(std::clamp<Size>(n * k / kTask, 2, 16), parts_of(k, kLeastDepth))};
  const Shares lines{n, 64, std::max<Size>(parts_of(n, together ? 4096 / m : 4096), !together && depths.count == 1 ? 2 : 1)};
  const ScratchOf<T> sums((depths.count - 1) * m * n);
  run(n * k < 4 * kVectorTask, depths.count * lines.count, [&](Size task) {
    const Size d = task / lines.count, p = depths.start(d), j = lines.start(task % lines.count);
    T* const to = d == 0 ? y : sums.get() + (d - 1) * m * n;
    const Size to_row = d == 0 ? y_row : n;
    tiles.rows_by_matrix(m, lines.size(task % lines.count), depths.size(d), x + p * x_step, x_row, x_step, b.data + p * b.row + j, b.row, to + j, to_row);
  });
  for (Size d = 1; d < depths.count; ++d)
    for (Size i = 0; i < m; ++i)
      for (Size j = 0; j < n; ++j) y[i * y_row + j] += sums.get()[((d - 1) * m + i) * n + j];
}

// y[j] = sum over p of x[p * x_step] * b[p, j]; y[j] at y + j * y_step.
template <class T>
void vector_product(const GemmTiles<T>& tiles, Size n, Size k, const T* x, Size x_step, Matrix<const T> b, T* y, Size y_step) {
  const bool serial = n * k < 4 * kVectorTask;
  if (b.row == 1) {
    std::unique_ptr<ScratchOf<T>> dense;
    if (x_step != 1) {
      dense = std::make_unique<ScratchOf<T>>(k);
      for (Size p = 0; p < k; ++p) dense->get()[p] = x[p * x_step];
      x = dense->get();
    }
    const Shares lines{n, 4, std::clamp<Size>(n * k / kVectorTask, 1, parts_of(n, 4))};
    return run(serial, lines.count, [&](Size task) {
      const Size j = lines.start(task);
      tiles.matrix_by_column(lines.size(task), k, b.data + j * b.col, b.col, x, y + j * y_step, y_step);
    });
  }
  rows_product(tiles, 1, n, k, x, 1, x_step, b, y, n);  // there is no second row, so x_row may be the 1 that rows_by_matrix asks of one of the steps
}

template <class T>
[[gnu::noinline]] bool general_gemm(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const BlockDone* done);

// Products this small take little longer than the choice of how to do them, so the usual case of them comes first, and alone. True: `done`
// was told of all parts.
template <class T>
bool float_gemm(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const BlockDone* done) {
  if (m * n * k <= kSmall && k <= tiles.depth && m > 1 && n > 1 && b.col == 1 && c.col == 1 && (a.col == 1 || a.row == 1)) {
    tiles.multiply(m, n, k, as_it_lies(a), {b.data, b.row, tiles.cols, false}, c.data, c.row, false);
    return false;
  }
  return general_gemm(tiles, m, n, k, a, b, c, done);
}

template <class T>
bool general_gemm(const GemmTiles<T>& tiles, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const BlockDone* done) {
  if (n == 1) c.col = 1;
  if (m == 1) c.row = n;
  if (c.col != 1 && c.row == 1) return float_gemm<T>(tiles, n, m, k, transposed(b), transposed(a), transposed(c), done);
  if (c.col != 1) {
    const ScratchOf<T> dense(m * n);
    float_gemm<T>(tiles, m, n, k, a, b, {dense.get(), n, 1}, nullptr);
    scatter(m, n, dense.get(), c);
    return false;
  }
  if (m * n * k <= kSmall && k <= tiles.depth && m > 1 && n > 1 && (a.col == 1 || a.row == 1)) {
    const ScratchOf<T> packed(round_up(n, tiles.cols) * k);
    tiles.pack_right(Stored::kAsComputed, b.data, b.col, b.row, n, k, packed.get());
    tiles.multiply(m, n, k, as_it_lies(a), {packed.get(), tiles.cols, tiles.cols * k, true}, c.data, c.row, false);
    return false;
  }
  if (m == 1 && (b.col == 1 || b.row == 1)) {
    vector_product(tiles, n, k, a.data, a.col, b, c.data, 1);
    return false;
  }
  if (n == 1 && (a.col == 1 || (a.row == 1 && c.row == 1))) {
    vector_product(tiles, m, k, b.data, b.row, transposed(a), c.data, c.row);
    return false;
  }
  if (m <= tiles.few && b.col == 1 && n * k >= kStreamed && (m <= tiles.together || a.col == 1 || a.row == 1)) {
    rows_product(tiles, m, n, k, a.data, a.row, a.col, b, c.data, c.row);
    return false;
  }
  if (better_turned(tiles, m, n, k, a, b)) turned_product(tiles, m, n, k, a, b, c.data, c.row, done);
  else blocked_product<T, T>(tiles, m, n, k, a, b, c.data, c.row, done);
  return true;
}

// 16-bit floats are widened while they are packed, and rounded at the end.
template <class S>
void half_gemm(const GemmTiles<float>& tiles, Size m, Size n, Size k, Matrix<const S> a, Matrix<const S> b, Matrix<S> c) {
  if (n < m && n < tiles.cols / 2) return half_gemm<S>(tiles, n, m, k, transposed(b), transposed(a), transposed(c));
  const ScratchOf<float> sums(m * n);
  blocked_product<float, S>(tiles, m, n, k, a, b, sums.get(), n, nullptr);
  scatter(m, n, sums.get(), c);
}

}  // namespace

template <class T>
void gemm(Isa isa, Size m, Size n, Size k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const BlockDone* done) {
  if (m == 0 || n == 0) return;
  bool told = false;
  if (k == 0 || m * n * k <= 4) gemm_reference<T>(m, n, k, a, b, c);
  else if constexpr (kIsHalf<T>) half_gemm<T>(gemm_kernels(isa).f32, m, n, k, a, b, c);
  else if constexpr (!std::floating_point<T>) integer_gemm<T>(m, n, k, a, b, c);
  else told = float_gemm<T>(tiles_of<T>(gemm_kernels(isa)), m, n, k, a, b, c, done);
  if (!told) tell_done(done, c.data, m * n);
}

template void gemm(Isa, Size, Size, Size, Matrix<const float>, Matrix<const float>, Matrix<float>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void gemm(Isa, Size, Size, Size, Matrix<const double>, Matrix<const double>, Matrix<double>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const double>, Matrix<const double>, Matrix<double>);
template void gemm(Isa, Size, Size, Size, Matrix<const float16>, Matrix<const float16>, Matrix<float16>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const float16>, Matrix<const float16>, Matrix<float16>);
template void gemm(Isa, Size, Size, Size, Matrix<const bfloat16>, Matrix<const bfloat16>, Matrix<bfloat16>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const bfloat16>, Matrix<const bfloat16>, Matrix<bfloat16>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint8_t>, Matrix<const std::uint8_t>, Matrix<std::uint8_t>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint8_t>, Matrix<const std::uint8_t>, Matrix<std::uint8_t>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint16_t>, Matrix<const std::uint16_t>, Matrix<std::uint16_t>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint16_t>, Matrix<const std::uint16_t>, Matrix<std::uint16_t>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint32_t>, Matrix<const std::uint32_t>, Matrix<std::uint32_t>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint32_t>, Matrix<const std::uint32_t>, Matrix<std::uint32_t>);
template void gemm(Isa, Size, Size, Size, Matrix<const std::uint64_t>, Matrix<const std::uint64_t>, Matrix<std::uint64_t>, const BlockDone*);
template void gemm_reference(Size, Size, Size, Matrix<const std::uint64_t>, Matrix<const std::uint64_t>, Matrix<std::uint64_t>);

}  // namespace weft::inline v0::kernels
