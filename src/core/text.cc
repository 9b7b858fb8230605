// Tensors as text, by NumPy's rules: columns line up, a float shows as few digits as identify it and at most eight after the
// point, long axes show three elements at each end.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "core/node.h"

namespace weft::inline v0 {
namespace {

constexpr std::int64_t kSummariseAbove = 1000, kEdge = 3;
constexpr int kMaxFraction = 8;
constexpr std::size_t kLineWidth = 75;

// Positions along an axis that are shown; -1 stands for the dots.
std::vector<std::int64_t> shown(std::int64_t size, bool summarise) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < size; ++i) {
    if (summarise && size > 2 * kEdge && i == kEdge) {
      positions.push_back(-1);
      i = size - kEdge;
    }
    positions.push_back(i);
  }
  return positions;
}

template <class T>
double as_double(T v) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(v);
  else return static_cast<double>(static_cast<float>(v));
}

// The shortest decimal that reads back as the same T, in plain or exponent notation.
template <class T>
std::string shortest(T value, std::chars_format format) {
  char text[512];
  if constexpr (std::floating_point<T>) {
    return {text, std::to_chars(text, text + sizeof text, value, format).ptr};
  } else {  // 16-bit floats: as many digits as needed
    const double exact = as_double(value);
    for (int digits = 1;; ++digits) {
      char* end = std::to_chars(text, text + sizeof text, exact, std::chars_format::scientific, digits - 1).ptr;
      *end = 0;
      const double back = std::strtod(text, nullptr);
      if (digits >= 9 || T(static_cast<float>(back)).bits == value.bits)
        return {text, std::to_chars(text, text + sizeof text, back, format).ptr};
    }
  }
}

struct FloatStyle {
  bool exponent = false;
};

template <class T>
std::string float_text(T value, FloatStyle style) {
  const double v = as_double(value);
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (style.exponent) {
    std::string text = shortest(value, std::chars_format::scientific);
    const auto e = text.find('e');
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') == std::string::npos) mantissa += '.';
    if (mantissa.size() > mantissa.find('.') + 1 + kMaxFraction) {
      char rounded[64];
      std::snprintf(rounded, sizeof rounded, "%.*e", kMaxFraction, v);
      return rounded;
    }
    return mantissa + text.substr(e);
  }
  std::string text = shortest(value, std::chars_format::fixed);
  const auto point = text.find('.');
  if (point == std::string::npos) return text + '.';
  if (text.size() - point - 1 > kMaxFraction) {
    char rounded[512];
    std::snprintf(rounded, sizeof rounded, "%.*f", kMaxFraction, v);
    text = rounded;
    while (text.back() == '0') text.pop_back();
  }
  return text;
}

template <class T>
std::string element_text(T value, FloatStyle style) {
  if constexpr (std::same_as<T, bool>) return value ? "true" : "false";
  else if constexpr (std::integral<T>) return std::to_string(value);
  else return float_text(value, style);
}

// Pads so that points line up: `left` characters up to the point, `right` after it.
std::string aligned(const std::string& text, std::size_t left, std::size_t right, bool floating) {
  const auto point = floating ? text.find('.') : std::string::npos;
  const std::size_t before = point == std::string::npos ? text.size() : point;
  const std::size_t after = text.size() - before;
  if (floating && point == std::string::npos) return std::string(left + right - std::min(left + right, text.size()), ' ') + text;  // nan, inf
  return std::string(left - before, ' ') + text + std::string(right - std::min(right, after), ' ');
}

template <class T>
class Writer {
 public:
  Writer(const T* data, const Shape& shape) : data_(data), shape_(shape), summarise_(shape.num_elements() > kSummariseAbove) {
    measure(0, 0);
    style_.exponent = std::floating_point<decltype(as_double(T{}))> && !std::is_integral_v<T> && any_ &&
                      (largest_ >= 1e8 || smallest_ < 1e-4 || largest_ / smallest_ > 1000.0);
    align(0, 0);
  }
  std::string str() {
    write(0, 0);
    return std::move(out_);
  }

 private:
  std::int64_t stride(int axis) const {
    std::int64_t count = 1;
    for (int a = axis + 1; a < shape_.rank(); ++a) count *= shape_[a];
    return count;
  }
  template <class Visit>
  void visit(int axis, std::int64_t offset, const Visit& each) {
    if (axis == shape_.rank()) return each(data_[offset]);
    for (std::int64_t i : shown(shape_.dim(axis), summarise_))
      if (i >= 0) visit(axis + 1, offset + i * stride(axis), each);
  }
  void measure(int axis, std::int64_t offset) {
    visit(axis, offset, [&](T value) {
      const double magnitude = std::abs(as_double(value));
      if (magnitude == 0 || !std::isfinite(magnitude)) return;
      largest_ = any_ ? std::max(largest_, magnitude) : magnitude;
      smallest_ = any_ ? std::min(smallest_, magnitude) : magnitude;
      any_ = true;
    });
  }
  void align(int axis, std::int64_t offset) {
    visit(axis, offset, [&](T value) {
      const std::string text = element_text(value, style_);
      const auto point = kFloating ? text.find('.') : std::string::npos;
      left_ = std::max(left_, point == std::string::npos ? (kFloating ? 0 : text.size()) : point);
      if (point != std::string::npos) right_ = std::max(right_, text.size() - point);
      widest_ = std::max(widest_, text.size());
    });
    if (left_ + right_ < widest_) left_ = widest_ - right_;
  }
  void write(int axis, std::int64_t offset) {
    if (axis == shape_.rank()) {
      out_ += aligned(element_text(data_[offset], style_), left_, right_, kFloating);
      return;
    }
    out_ += '[';
    const bool innermost = axis + 1 == shape_.rank();
    const auto positions = shown(shape_.dim(axis), summarise_);
    std::size_t line_start = out_.size();
    for (std::size_t k = 0; k < positions.size(); ++k) {
      if (k > 0 && !innermost) out_ += std::string(static_cast<std::size_t>(shape_.rank() - axis - 1), '\n') + std::string(static_cast<std::size_t>(axis) + 1, ' ');
      if (k > 0 && innermost) {
        if (out_.size() - line_start + 1 + left_ + right_ > kLineWidth - static_cast<std::size_t>(axis)) {
          out_ += '\n' + std::string(static_cast<std::size_t>(axis) + 1, ' ');
          line_start = out_.size();
        } else {
          out_ += ' ';
        }
      }
      if (positions[k] < 0) out_ += "...";
      else write(axis + 1, offset + positions[k] * stride(axis));
    }
    out_ += ']';
  }

  static constexpr bool kFloating = !std::is_integral_v<T>;
  const T* data_;
  const Shape& shape_;
  const bool summarise_;
  FloatStyle style_;
  bool any_ = false;
  double largest_ = 0, smallest_ = 0;
  std::size_t left_ = 0, right_ = 0, widest_ = 0;
  std::string out_;
};

}  // namespace

std::string Tensor::str() const {
  if (!defined()) return "<empty>";
  if (!is_concrete()) return "<symbolic " + spec().str() + ">";
  if (size() == 0) return "[] " + spec().str();  // as NumPy: the other sizes may be huge
  const std::string values = with_element(dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if (rank() == 0) {
      std::string text = Writer<T>(elements<T>(*this), shape()).str();
      if (!std::is_integral_v<T> && text.ends_with('.')) text += '0';
      if (const auto bare = text.find(".e"); bare != std::string::npos) text.erase(bare, 1);
      return text;
    }
    return Writer<T>(elements<T>(*this), shape()).str();
  });
  return rank() == 0 ? values : values + " " + spec().str();
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << x.str(); }

}  // namespace weft::inline v0
