#include "options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <weft/print.h>

using namespace weft;

namespace {

constexpr std::string_view kHelp =
    "Trains a small convolutional network on digits that it draws itself, and shows what it has learned.\n\n"
    "  --images N   images to learn from, a multiple of 50 (20000); a fifth as many are for the test\n"
    "  --steps N    steps of training with 100 images each (1200)\n"
    "  --seed N     another seed, other digits (1)\n"
    "  --out DIR    where the page goes (build/demo)";

[[noreturn]] void refuse(const std::string& sentence) {
  std::fputs((sentence + "\n").c_str(), stderr);
  std::exit(2);
}

int number(std::string_view option, std::string_view text, int least, int most, int multiple) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits = error == std::errc() && end == text.data() + text.size() && value >= least && value <= most && value % multiple == 0;
  const std::string rule = multiple == 1 ? std::string("a whole number") : format("a multiple of {}", multiple);
  if (!fits) refuse(format("digits: {} must be {} from {} to {}, and `{}` is not.", option, rule, least, most, text));
  return value;
}

}  // namespace

Options parse_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = words[i];
    if (option == "-h" || option == "--help") print("{}", kHelp), std::exit(0);
    if (option != "--images" && option != "--steps" && option != "--seed" && option != "--out") {
      refuse(format("digits: there is no option `{}`; --help lists those that there are.", option));
    }
    if (++i == count || !*words[i]) refuse(format("digits: {} needs a value behind it; --help says which.", option));
    const std::string_view value = words[i];
    if (option == "--images") options.images = number(option, value, 100, 1'000'000, 50);
    else if (option == "--steps") options.steps = number(option, value, 1, 1'000'000, 1);
    else if (option == "--seed") options.seed = number(option, value, 0, 2'147'483'647, 1);
    else options.out = value;
  }
  return options;
}
