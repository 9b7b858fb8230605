// Concrete calls made from the samples of a row. Deterministic: the same row, sample and Making give the same call everywhere.
#pragma once

#include <optional>
#include <vector>

#include "core/apply.h"

namespace weft::test {

/// The arguments of one call.
struct Arguments {
  Tensors inputs;
  std::vector<Attr> attrs;
};

/// What varies between the calls that one sample stands for.
struct Making {
  DType dtype = f64;                // of T
  DType index = i32;                // of the ":index" inputs
  std::uint64_t seed = 0;
  std::vector<Shape> shapes = {};   // instead of the sample's own, if given: one for each input
};

/// The dtypes of T that the row claims; a row without an input of type T has one entry, which does not matter.
std::vector<DType> dtypes_of(const Op& op);
bool has_common_input(const Op& op);

/// The call, or nothing if the sample has no values of this dtype (0.2 to 0.8 as i32).
std::optional<Arguments> make_arguments(const Op& op, const Sample& sample, const Making& making = {});
/// The attributes of a sample in the order of the row. Throws InternalError for a name or a kind that the row does not declare.
std::vector<Attr> make_attrs(const Op& op, const Sample& sample);

/// The same values with another dtype of T.
Arguments converted(const Op& op, const Arguments& from, DType to);
/// Inputs known by their Specs only, with their sizes or with every size unknown.
Arguments symbolic(const Arguments& from, bool keep_sizes);

Tensors run(const Op& op, const Arguments& arguments);

std::vector<double> values(const Tensor& x);
Tensor with_values(Spec spec, std::span<const double> numbers);

/// Numbers from a counter: the same on every machine.
class Numbers64 {
 public:
  explicit Numbers64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }
  std::int64_t integer(std::int64_t low, std::int64_t high);  // both included

 private:
  std::uint64_t state_;
};
std::uint64_t seed_of(std::string_view text);
/// What WEFT_TEST_SEED=n adds to every seed, 0 for n = 0 and if it is not set. Every n gives every sample other values; the suites hold for each.
std::uint64_t seed_of_run(const char* text);

}  // namespace weft::test
