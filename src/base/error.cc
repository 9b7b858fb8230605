#include <weft/error.h>

#include <string>

namespace weft::inline v0 {
namespace {

std::string with_location(const std::string& text, Location at) {
  if (at.line == 0) return text;
  const std::string_view path = at.file;
  const auto slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return text + " (" + std::string(file) + ":" + std::to_string(at.line) + ")";
}

std::string sentence_of(const std::string& op, const std::string& sentence) {
  return op.empty() ? sentence : op + ": " + sentence;
}

}  // namespace

Error::Error(std::string op, std::string sentence, Location at)
    : std::runtime_error(with_location(sentence_of(op, sentence), at)),
      op_(std::move(op)),
      message_(sentence_of(op_, sentence)),
      at_(at) {}

// Destructors out of line give every class one exported type_info, so that catching works across libraries.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
DtypeError::~DtypeError() = default;
IndexError::~IndexError() = default;
ValueError::~ValueError() = default;
StateError::~StateError() = default;
TraceError::~TraceError() = default;
GradientError::~GradientError() = default;
ConflictError::~ConflictError() = default;
CheckError::~CheckError() = default;
NumericError::~NumericError() = default;
IoError::~IoError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;

InternalError::InternalError(const std::string& sentence, Location at)
    : std::logic_error(with_location("internal: " + sentence, at)) {}
InternalError::~InternalError() = default;

}  // namespace weft::inline v0
