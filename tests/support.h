// What tests of every layer need: the text of an error, the numbers of a Tensor.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <weft/error.h>
#include <weft/tensor.h>

namespace weft::test {

/// The sentence of the error of exactly this class (or, for Error, of any) that the call throws; otherwise what happened instead.
template <class Expected, class Call>
std::string message(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::is_same_v<Expected, Error> || typeid(error) == typeid(Expected) ? error.message() : "another class: " + error.message();
  } catch (const std::exception& error) {
    return std::string("not a weft::Error: ") + error.what();
  }
  return "no error";
}
#define EXPECT_TEXT(Class, call, text) EXPECT_EQ(::weft::test::message<Class>([&] { static_cast<void>(call); }), text)

inline std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }
inline float number(const Tensor& x) { return x.item<float>(); }

}  // namespace weft::test
