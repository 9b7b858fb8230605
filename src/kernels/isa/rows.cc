#include "kernels/rows.h"

#include "kernels/isa/exp.h"
#include "kernels/isa/moments.h"
#include "kernels/isa/write.h"

namespace weft::inline v0::kernels::WEFT_ISA {
namespace {

/// The larger of the two, b if one is NaN. (g++ 12 makes two instructions of the selection.)
template <class V>
WEFT_INLINE V larger(V a, V b) { return a > b ? a : b; }
#if defined(WEFT_ISA_v4)
WEFT_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm512_maskz_max_ps(0xffff, a, b); }
#elif defined(WEFT_ISA_v3)
WEFT_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a, b); }
#endif

/// The largest number; a NaN is passed over, and shows in the sums.
template <class T>
WEFT_INLINE T largest(const T* x, std::int64_t n) {
  constexpr int width = kWidth<T>;
  const Vec<T> none = all_lanes(-lane::kInfinity<T>);
  Vec<T> best[4] = {none, none, none, none};
  std::int64_t k = 0;
  for (; k + 4 * width <= n; k += 4 * width) {
    fetch_ahead(x + k, 4 * width);
    for (int v = 0; v < 4; ++v) best[v] = larger(load<T>(x + k + v * width), best[v]);
  }
  for (; k + width <= n; k += width) best[0] = larger(load<T>(x + k), best[0]);
  if (k < n) best[1] = larger(load_some(x + k, n - k, -lane::kInfinity<T>), best[1]);
  T lanes[width];
  store(lanes, larger(larger(best[0], best[1]), larger(best[2], best[3])));
  for (int half = width / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] = larger(lanes[l], lanes[l + half]);
  return lanes[0];
}

/// The sum of a[k] * b[k]: products of f32 are exact in double.
template <class T>
WEFT_INLINE double dot(const T* a, const T* b, std::int64_t n) {
  Lanes<AddUp<T>> lanes;
  lanes.start();
  std::int64_t k = 0;
  for (; k + lanes.kCount <= n; k += lanes.kCount)
    for (int v = 0; v < lanes.kVectors; ++v) {
      const std::int64_t at = k + v * kWidth<double>;
      const Vec<double> product = load<double>(a + at) * load<double>(b + at);
      AddUp<T>::step(lanes.at[v], product, product);
    }
  double rest[Lanes<AddUp<T>>::kCount], words[AddUp<T>::kWords];
  const std::int64_t left = n - k;
  for (std::int64_t l = 0; l < left; ++l) rest[l] = static_cast<double>(a[k + l]) * static_cast<double>(b[k + l]);
  lanes.finish(rest, left, 0, words);
  return AddUp<T>::value(words);
}

// --- softmax ---

/// The largest logit m of a row, and exp(x - m) for all of them with their sum, both times kPowerScale.
template <class T>
struct Powers {
  T* at;
  T max;
  double total;
  template <class Meanwhile>
  WEFT_INLINE Powers(const T* x, std::int64_t n, T* to, const Meanwhile& meanwhile)
      : at(to), max(largest(x, n)), total(power_row(x, n, max, to, meanwhile)) {}
  WEFT_INLINE Powers(const T* x, std::int64_t n, T* to) : Powers(x, n, to, [](std::int64_t) {}) {}
  /// What makes a power a probability.
  WEFT_INLINE T share() const { return static_cast<T>(1 / total); }
  /// The logarithm of a probability is (x - max) - log_total: max + log_total would lose digits for large logits.
  WEFT_INLINE T log_total() const { return static_cast<T>(__builtin_log(total / kPowerScale<T>)); }
};

/// Reads the logits of row r into its half of the scratch.
template <class T, class Meanwhile>
WEFT_INLINE Powers<T> powers_of(RowRun rows, std::int64_t r, const T* x, T* scratch, const Meanwhile& meanwhile) {
  return Powers<T>(x + r * rows.n, rows.n, scratch + r % 2 * rows.n, meanwhile);
}

template <class T>
struct Scaled {
  const T* x;
  T scale;
};

template <class T>
void softmax(RowRun rows, const T* x, T* y, T* scratch) {
  write_rows(
      rows, y, kPowerStep,
      [&](std::int64_t r, const auto& meanwhile) __attribute__((always_inline)) {
        const Powers<T> powers = powers_of(rows, r, x, scratch, meanwhile);
        return Scaled<T>{powers.at, powers.share()};
      },
      [](const Scaled<T>& row, auto get, std::int64_t k) { return get(row.x + k) * row.scale; });
}

template <class T>
void softmax_backward(RowRun rows, const T* y, const T* dy, T* dx) {
  for (std::int64_t r = 0; r < rows.count; ++r, y += rows.n, dy += rows.n, dx += rows.n) {
    const T total = static_cast<T>(dot(y, dy, rows.n));
    write_row(rows.stream, 0, rows.n, dx, [&](T of_row, auto get, std::int64_t k) { return get(y + k) * (get(dy + k) - of_row); }, total);
  }
  end_of_stream(rows.stream);
}

template <class T>
void log_softmax(RowRun rows, const T* x, T* y, T* scratch) {
  struct Row {
    const T* x;
    T max, log_total;
  };
  write_rows(
      rows, y, kPowerStep,
      [&](std::int64_t r, const auto& meanwhile) __attribute__((always_inline)) {
        const Powers<T> powers = powers_of(rows, r, x, scratch, meanwhile);
        return Row{x + r * rows.n, powers.max, powers.log_total()};
      },
      [](const Row& row, auto get, std::int64_t k) { return (get(row.x + k) - row.max) - row.log_total; });
}

template <class T>
void log_softmax_backward(RowRun rows, const T* y, const T* dy, T* dx, T* scratch) {
  for (std::int64_t r = 0; r < rows.count; ++r, y += rows.n, dy += rows.n, dx += rows.n) {
    const T total = static_cast<T>(sum(dy, rows.n));
    for (std::int64_t k = 0; k < rows.n; ++k) scratch[k] = lane::exp(y[k]);
    write_row(rows.stream, 0, rows.n, dx, [&](T of_row, auto get, std::int64_t k) { return get(dy + k) - get(scratch + k) * of_row; }, total);
  }
  end_of_stream(rows.stream);
}

// --- cross entropy ---

template <class T>
void cross_entropy(RowRun rows, const T* labels, const T* logits, T* loss, T* scratch) {
  for (std::int64_t r = 0; r < rows.count; ++r, labels += rows.n, logits += rows.n) {
    const Powers<T> powers(logits, rows.n, scratch);
    const T max = powers.max, log_total = powers.log_total();
    for (std::int64_t k = 0; k < rows.n; ++k) {
      const T surprise = -((logits[k] - max) - log_total), part = labels[k] * surprise;
      const bool never = (labels[k] == T(0)) & (lane::size_of(surprise) == lane::kInfinity<T>);
      scratch[k] = never ? T(0) : part;
    }
    loss[r] = static_cast<T>(sum(scratch, rows.n));
  }
}

template <class T>
void cross_entropy_backward(RowRun rows, const T* labels, const T* logits, const T* dy, T* dx, T* scratch) {
  struct Row {
    const T *powers, *labels;
    T share, total, slope;
  };
  write_rows(
      rows, dx, kPowerStep,
      [&](std::int64_t r, const auto& meanwhile) __attribute__((always_inline)) {
        const Powers<T> powers = powers_of(rows, r, logits, scratch, meanwhile);
        const T* own = labels + r * rows.n;
        return Row{powers.at, own, powers.share(), static_cast<T>(sum(own, rows.n)), dy[r]};
      },
      [](const Row& row, auto get, std::int64_t k) { return row.slope * (get(row.powers + k) * row.share * row.total - get(row.labels + k)); });
}

template <class T>
void sparse_cross_entropy(RowRun rows, const std::int64_t* labels, const T* logits, T* loss, T* scratch) {
  for (std::int64_t r = 0; r < rows.count; ++r, logits += rows.n) {
    const Powers<T> powers(logits, rows.n, scratch);
    loss[r] = -((logits[labels[r]] - powers.max) - powers.log_total());
  }
}

template <class T>
void sparse_cross_entropy_backward(RowRun rows, const std::int64_t* labels, const T* logits, const T* dy, T* dx, T* scratch) {
  struct Row {
    const T* powers;
    T share, slope;
  };
  write_rows(
      rows, dx, kPowerStep,
      [&](std::int64_t r, const auto& meanwhile) __attribute__((always_inline)) {
        const Powers<T> powers = powers_of(rows, r, logits, scratch, meanwhile);
        T& right = powers.at[labels[r]];  // a probability near 1, less 1, keeps its digits this way
        right = static_cast<T>(static_cast<double>(right) - powers.total);
        return Row{powers.at, powers.share(), dy[r]};
      },
      [](const Row& row, auto get, std::int64_t k) { return row.slope * (get(row.powers + k) * row.share); });
}

// --- standardisation ---

template <class T>
void standardize(RowRun rows, double epsilon, const T* x, const T* scale, const T* offset, T* y) {
  struct Row {
    const T* x;
    Standard<T> standard;
  };
  const auto read = [&](std::int64_t r, const auto& meanwhile) __attribute__((always_inline)) {
    const T* own = x + r * rows.n;
    return Row{own, Standard<T>(Moments<T>(own, rows.n, epsilon, meanwhile))};
  };
  if (scale == nullptr) {
    write_rows(rows, y, ShortSums::kCount, read, [](const Row& row, auto get, std::int64_t k) { return row.standard(get(row.x + k)); });
  } else {
    write_rows(rows, y, ShortSums::kCount, read,
               [&](const Row& row, auto get, std::int64_t k) { return row.standard(get(row.x + k)) * get(scale + k) + get(offset + k); });
  }
}

/// Takes one step of the sums of columns at `words`, which are n columns wide.
template <class T, class W>
WEFT_INLINE void add_to_columns(double* words, std::int64_t n, W x) {
  W s[AddUp<T>::kWords];
  for (int w = 0; w < AddUp<T>::kWords; ++w) __builtin_memcpy(&s[w], words + w * n, sizeof(W));
  AddUp<T>::step(s, x, x);
  for (int w = 0; w < AddUp<T>::kWords; ++w) __builtin_memcpy(words + w * n, &s[w], sizeof(W));
}

/// With y the standardised x and g = dy * scale, which is 1 if it is not affine: the sums of g and of g * y. Affine, the columns of dy * y and
/// dy are added up, too.
struct Slopes {
  double g, gy;
};
template <bool affine>
WEFT_INLINE Slopes sum_slopes(const Moments<double>& row, std::int64_t n, const double* x, const double* scale, const double* dy, double* dscale,
                              double* doffset) {
  using Sum = AddUp<double>;
  double g[Sum::kWords] = {}, gy[Sum::kWords] = {};
  for (std::int64_t k = 0; k < n; ++k) {
    const double product = dy[k] * ((x[k] - row.mean) * row.scale), s = affine ? scale[k] : 1;
    if constexpr (affine) {
      add_to_columns<double>(dscale + k, n, product);
      add_to_columns<double>(doffset + k, n, dy[k]);
    }
    Sum::step(g, dy[k] * s, 0.0);
    Sum::step(gy, product * s, 0.0);
  }
  return {Sum::value(g), Sum::value(gy)};
}
/// In f32, and so are the columns: those of a few rows only.
template <bool affine>
WEFT_INLINE Slopes sum_slopes(const Moments<float>& row, std::int64_t n, const float* x, const float* scale, const float* dy, float* dscale,
                              float* doffset) {
  ShortSums of_g, of_gy;
  const Standard<float> standard(row);
  const auto take = [&](auto get, std::int64_t k, auto& g, auto& gy) __attribute__((always_inline)) {
    const auto d = get(dy + k), product = d * standard(get(x + k));
    g = d, gy = product;
    if constexpr (affine) {
      const auto columns = get(dscale + k) + product, offsets = get(doffset + k) + d;
      __builtin_memcpy(dscale + k, &columns, sizeof columns);
      __builtin_memcpy(doffset + k, &offsets, sizeof offsets);
      g = d * get(scale + k), gy = product * get(scale + k);
    }
  };
  const std::int64_t rest = in_short_runs(
      n,
      [&](std::int64_t k, int v) __attribute__((always_inline)) {
        Vec<float> g, gy;
        take(Many(), k, g, gy);
        of_g.at[v] += g, of_gy.at[v] += gy;
      },
      [&] { of_g.widen(), of_gy.widen(); });
  Slopes sums{of_g.total(), of_gy.total()};
  for (std::int64_t k = rest; k < n; ++k) {
    float g, gy;
    take(One(), k, g, gy);
    sums.g += static_cast<double>(g), sums.gy += static_cast<double>(gy);
  }
  return sums;
}

/// The sums in double, for a row or for columns whose elements are in the range of f32 while sums of some of them are not.
template <bool affine>
__attribute__((noinline)) Slopes sum_widely(const Moments<float>& row, std::int64_t n, const float* x, const float* scale, const float* dy) {
  Slopes sums{0, 0};
  for (std::int64_t k = 0; k < n; ++k) {
    const double g = static_cast<double>(dy[k]) * (affine ? static_cast<double>(scale[k]) : 1.0);
    sums.g += g, sums.gy += g * ((static_cast<double>(x[k]) - row.mean) * row.scale);
  }
  return sums;
}
__attribute__((noinline)) void sum_columns_widely(RowRun rows, double epsilon, const float* x, const float* dy, double* dscale, double* doffset) {
  for (std::int64_t k = 0; k < rows.n; ++k) dscale[k] = doffset[k] = 0;
  for (std::int64_t r = 0; r < rows.count; ++r, x += rows.n, dy += rows.n) {
    const Moments<float> row(x, rows.n, epsilon, [](std::int64_t) {});
    for (std::int64_t k = 0; k < rows.n; ++k) {
      const double d = static_cast<double>(dy[k]);
      dscale[k] += d * ((static_cast<double>(x[k]) - row.mean) * row.scale), doffset[k] += d;
    }
  }
}

/// dx = (g - mean(g) - y * mean(g * y)) times the row's scale. The columns of f32 are added up in the scratch for a few rows, then in double.
template <bool affine, class T>
WEFT_INLINE void standardize_rows_backward(RowRun rows, double epsilon, const T* x, const T* scale, const T* dy, T* dx, double* dscale, double* doffset,
                                           T* scratch) {
  constexpr std::int64_t few = 8;
  struct Row {
    const T *x, *dy;
    Standard<T> standard;
    T mean, slope;
  };
  const std::int64_t n = rows.n;
  const auto read = [&](std::int64_t r, const auto& meanwhile) __attribute__((always_inline)) {
    const T *own = x + r * n, *own_dy = dy + r * n;
    const Moments<T> row(own, n, epsilon, meanwhile);
    Slopes sums;
    if constexpr (std::is_same_v<T, float>) {
      if (affine && r % few == 0)
        for (std::int64_t k = 0; k < 2 * n; ++k) scratch[k] = 0;
      sums = sum_slopes<affine>(row, n, own, scale, own_dy, scratch, scratch + n);
      if (!__builtin_isfinite(sums.g) || !__builtin_isfinite(sums.gy)) sums = sum_widely<affine>(row, n, own, scale, own_dy);
      if (affine && (r % few == few - 1 || r == rows.count - 1))
        for (std::int64_t k = 0; k < n; ++k) dscale[k] += static_cast<double>(scratch[k]), doffset[k] += static_cast<double>(scratch[n + k]);
    } else {
      sums = sum_slopes<affine>(row, n, own, scale, own_dy, dscale, doffset);
    }
    const double count = static_cast<double>(n);
    return Row{own, own_dy, Standard<T>(row), static_cast<T>(sums.g / count), static_cast<T>(sums.gy / count)};
  };
  write_rows(rows, dx, ShortSums::kCount, read, [&](const Row& row, auto get, std::int64_t k) {
    auto g = get(row.dy + k);
    if constexpr (affine) g = g * get(scale + k);
    return (g - row.mean - row.standard(get(row.x + k)) * row.slope) * row.standard.scale;
  });
  if constexpr (affine && std::is_same_v<T, float>) {
    bool finite = true;
    for (std::int64_t k = 0; k < n; ++k) finite = finite && __builtin_isfinite(dscale[k]) && __builtin_isfinite(doffset[k]);
    if (!finite) sum_columns_widely(rows, epsilon, x, dy, dscale, doffset);
  }
}

template <class T>
void standardize_backward(RowRun rows, double epsilon, const T* x, const T* scale, const T* dy, T* dx, double* dscale, double* doffset, T* scratch) {
  if (scale != nullptr) standardize_rows_backward<true>(rows, epsilon, x, scale, dy, dx, dscale, doffset, scratch);
  else standardize_rows_backward<false>(rows, epsilon, x, scale, dy, dx, dscale, doffset, scratch);
}

template <class T>
consteval RowLoops<T> loops() {
  return {softmax<T>, softmax_backward<T>, log_softmax<T>, log_softmax_backward<T>, cross_entropy<T>, cross_entropy_backward<T>,
          sparse_cross_entropy<T>, sparse_cross_entropy_backward<T>, standardize<T>, standardize_backward<T>};
}

}  // namespace

extern const RowTable row_table = {loops<float>(), loops<double>()};

}  // namespace weft::inline v0::kernels::WEFT_ISA
