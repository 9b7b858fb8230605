#include "kernels/rows.h"

#include "kernels/isa/exp.h"

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

template <class T>
WEFT_INLINE double sum(const T* x, std::int64_t n) {
  double words[AddUp<T>::kWords];
  fold_run<AddUp<T>>(x, n, 0, words);
  return AddUp<T>::value(words);
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

template <class T>
WEFT_INLINE void stream(T* to, Vec<T> v) {
#if defined(WEFT_ISA_v4)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(v));
#elif defined(WEFT_ISA_v3)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(v));
#elif defined(__x86_64__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(v));
#else
  store(to, v);
#endif
}
/// After the last streamed result, before anybody is told of it.
WEFT_INLINE void end_of_stream(bool streamed) {
#if defined(__x86_64__)
  if (streamed) _mm_sfence();
#endif
}

/// y[k] = f(x[k]...), where f takes numbers and vectors of them.
template <class T, class F, class... X>
WEFT_INLINE void write_row(bool streamed, std::int64_t n, T* y, const F& f, const X*... x) {
  std::int64_t k = 0;
  if (streamed) {
    for (; k < n && reinterpret_cast<std::uintptr_t>(y + k) % kVectorBytes != 0; ++k) y[k] = f(x[k]...);
    for (; k + kWidth<T> <= n; k += kWidth<T>) stream(y + k, f(load<T>(x + k)...));
  } else {
    for (; k + kWidth<T> <= n; k += kWidth<T>) store(y + k, f(load<T>(x + k)...));
  }
  for (; k < n; ++k) y[k] = f(x[k]...);
}

// --- softmax ---

/// The largest logit m of a row, and exp(x - m) for all of them with their sum, both times kPowerScale.
template <class T>
struct Powers {
  const T* at;
  T max;
  double total;
  WEFT_INLINE Powers(const T* x, std::int64_t n, T* to) : at(to), max(largest(x, n)), total(power_row(x, n, max, to)) {}
  /// What makes a power a probability.
  WEFT_INLINE T share() const { return static_cast<T>(1 / total); }
  /// The logarithm of a probability is (x - max) - log_total: max + log_total would lose digits for large logits.
  WEFT_INLINE T log_total() const { return static_cast<T>(__builtin_log(total / kPowerScale<T>)); }
};

template <class T>
void softmax(RowRun rows, const T* x, T* y, T* scratch) {
  for (std::int64_t r = 0; r < rows.count; ++r, x += rows.n, y += rows.n) {
    const Powers<T> powers(x, rows.n, scratch);
    const T share = powers.share();
    write_row(rows.stream, rows.n, y, [&](auto power) { return power * share; }, powers.at);
  }
  end_of_stream(rows.stream);
}

template <class T>
void softmax_backward(RowRun rows, const T* y, const T* dy, T* dx) {
  for (std::int64_t r = 0; r < rows.count; ++r, y += rows.n, dy += rows.n, dx += rows.n) {
    const T total = static_cast<T>(dot(y, dy, rows.n));
    write_row(rows.stream, rows.n, dx, [&](auto p, auto g) { return p * (g - total); }, y, dy);
  }
  end_of_stream(rows.stream);
}

template <class T>
void log_softmax(RowRun rows, const T* x, T* y, T* scratch) {
  for (std::int64_t r = 0; r < rows.count; ++r, x += rows.n, y += rows.n) {
    const Powers<T> powers(x, rows.n, scratch);
    const T max = powers.max, log_total = powers.log_total();
    write_row(rows.stream, rows.n, y, [&](auto logit) { return (logit - max) - log_total; }, x);
  }
  end_of_stream(rows.stream);
}

template <class T>
void log_softmax_backward(RowRun rows, const T* y, const T* dy, T* dx, T* scratch) {
  for (std::int64_t r = 0; r < rows.count; ++r, y += rows.n, dy += rows.n, dx += rows.n) {
    const T total = static_cast<T>(sum(dy, rows.n));
    for (std::int64_t k = 0; k < rows.n; ++k) scratch[k] = lane::exp(y[k]);
    write_row(rows.stream, rows.n, dx, [&](auto p, auto g) { return g - p * total; }, scratch, dy);
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
  for (std::int64_t r = 0; r < rows.count; ++r, labels += rows.n, logits += rows.n, dx += rows.n) {
    const Powers<T> powers(logits, rows.n, scratch);
    const T share = powers.share(), total = static_cast<T>(sum(labels, rows.n)), slope = dy[r];
    write_row(rows.stream, rows.n, dx, [&](auto power, auto label) { return slope * (power * share * total - label); }, powers.at, labels);
  }
  end_of_stream(rows.stream);
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
  for (std::int64_t r = 0; r < rows.count; ++r, logits += rows.n, dx += rows.n) {
    const Powers<T> powers(logits, rows.n, scratch);
    const T share = powers.share(), slope = dy[r];
    T& right = scratch[labels[r]];  // a probability near 1, less 1, keeps its digits this way
    right = static_cast<T>(static_cast<double>(right) - powers.total);
    write_row(rows.stream, rows.n, dx, [&](auto power) { return slope * (power * share); }, powers.at);
  }
  end_of_stream(rows.stream);
}

// --- standardisation ---

template <class T>
struct Moments {
  double mean, scale;
  WEFT_INLINE Moments(const T* x, std::int64_t n, double epsilon) {
    const double count = static_cast<double>(n);
    mean = sum(x, n) / count;
    double squares[AddUp<T>::kWords];
    fold_run<AddSquaredDistance<T>>(x, n, mean, squares);
    scale = 1 / __builtin_sqrt(AddUp<T>::value(squares) / count + epsilon);
  }
};

/// Standardises in T. The mean is two numbers, because a row far from 0 has more digits in it than T: (x - high) - low is nearly exact.
template <class T>
struct Standard {
  T high, low, scale;
  WEFT_INLINE explicit Standard(const Moments<T>& row)
      : high(static_cast<T>(row.mean)), low(static_cast<T>(row.mean - static_cast<double>(high))), scale(static_cast<T>(row.scale)) {}
  template <class V>
  WEFT_INLINE V operator()(V x) const { return ((x - high) - low) * scale; }
};

template <class T>
void standardize(RowRun rows, double epsilon, const T* x, const T* scale, const T* offset, T* y) {
  for (std::int64_t r = 0; r < rows.count; ++r, x += rows.n, y += rows.n) {
    const Standard<T> standard(Moments<T>(x, rows.n, epsilon));
    if (scale == nullptr) write_row(rows.stream, rows.n, y, standard, x);
    else write_row(rows.stream, rows.n, y, [&](auto e, auto s, auto o) { return standard(e) * s + o; }, x, scale, offset);
  }
  end_of_stream(rows.stream);
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
template <bool affine, class T>
WEFT_INLINE void sum_slopes(const Moments<T>& row, std::int64_t n, const T* x, const T* scale, const T* dy, double* dscale, double* doffset, double* sum_g,
                            double* sum_gy) {
  using Sum = AddUp<T>;
  Lanes<Sum> of_g, of_gy;
  of_g.start();
  of_gy.start();
  const auto take = [&](auto e, auto d, auto s, std::int64_t k, auto& g, auto& gy) __attribute__((always_inline)) {
    const auto product = d * ((e - row.mean) * row.scale);
    g = d, gy = product;
    if constexpr (affine) {
      add_to_columns<T>(dscale + k, n, product);
      add_to_columns<T>(doffset + k, n, d);
      g = d * s, gy = product * s;
    }
  };
  std::int64_t k = 0;
  for (; k + Lanes<Sum>::kCount <= n; k += Lanes<Sum>::kCount)
    for (int v = 0; v < Lanes<Sum>::kVectors; ++v) {
      const std::int64_t at = k + v * kWidth<double>;
      Vec<double> s{}, g, gy;
      if constexpr (affine) s = load<double>(scale + at);
      take(load<double>(x + at), load<double>(dy + at), s, at, g, gy);
      Sum::step(of_g.at[v], g, g);
      Sum::step(of_gy.at[v], gy, gy);
    }
  double rest_g[Lanes<Sum>::kCount], rest_gy[Lanes<Sum>::kCount], words[Sum::kWords];
  const std::int64_t rest = n - k;
  for (std::int64_t l = 0; l < rest; ++l)
    take(static_cast<double>(x[k + l]), static_cast<double>(dy[k + l]), affine ? static_cast<double>(scale[k + l]) : 1.0, k + l, rest_g[l], rest_gy[l]);
  of_g.finish(rest_g, rest, 0, words);
  *sum_g = Sum::value(words);
  of_gy.finish(rest_gy, rest, 0, words);
  *sum_gy = Sum::value(words);
}

/// dx = (g - mean(g) - y * mean(g * y)) times the row's scale.
template <bool affine, class T>
WEFT_INLINE void standardize_rows_backward(RowRun rows, double epsilon, const T* x, const T* scale, const T* dy, T* dx, double* dscale, double* doffset) {
  const std::int64_t n = rows.n;
  for (std::int64_t r = 0; r < rows.count; ++r, x += n, dy += n, dx += n) {
    const Moments<T> row(x, n, epsilon);
    double sum_g, sum_gy;
    sum_slopes<affine>(row, n, x, scale, dy, dscale, doffset, &sum_g, &sum_gy);
    const Standard<T> standard(row);
    const T mean = static_cast<T>(sum_g / static_cast<double>(n)), slope = static_cast<T>(sum_gy / static_cast<double>(n));
    const auto back = [&](auto e, auto g) { return (g - mean - standard(e) * slope) * standard.scale; };
    if constexpr (affine) write_row(rows.stream, n, dx, [&](auto e, auto d, auto s) { return back(e, d * s); }, x, dy, scale);
    else write_row(rows.stream, n, dx, back, x, dy);
  }
  end_of_stream(rows.stream);
}

template <class T>
void standardize_backward(RowRun rows, double epsilon, const T* x, const T* scale, const T* dy, T* dx, double* dscale, double* doffset) {
  if (scale != nullptr) standardize_rows_backward<true>(rows, epsilon, x, scale, dy, dx, dscale, doffset);
  else standardize_rows_backward<false>(rows, epsilon, x, scale, dy, dx, dscale, doffset);
}

template <class T>
consteval RowLoops<T> loops() {
  return {softmax<T>, softmax_backward<T>, log_softmax<T>, log_softmax_backward<T>, cross_entropy<T>, cross_entropy_backward<T>,
          sparse_cross_entropy<T>, sparse_cross_entropy_backward<T>, standardize<T>, standardize_backward<T>};
}

}  // namespace

extern const RowTable row_table = {loops<float>(), loops<double>()};

}  // namespace weft::inline v0::kernels::WEFT_ISA
