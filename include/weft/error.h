// Every way in which Weft says no.
//
// Two families: `Error` and its subclasses are the caller's mistake and leave everything as it was;
// `InternalError` is a defect of Weft. A message is one sentence that names the operation, the argument, the rule
// and the remedy; `what()` adds the source line of the call. docs/errors.md has one section for each class.
//
// Thread safety: exceptions are immutable values.
#pragma once

#include <stdexcept>
#include <string>

#include <weft/location.h>

#define WEFT_API __attribute__((visibility("default")))

namespace weft::inline v0 {

/// The caller's mistake. Catch this to catch everything that valid use could have avoided.
class WEFT_API Error : public std::runtime_error {
 public:
  Error(std::string op, std::string sentence, Location at);
  ~Error() override;

  const std::string& op() const { return op_; }            ///< the operation that refused, e.g. "add"
  const std::string& message() const { return message_; }  ///< "add: ..." without the source line
  Location location() const { return at_; }                ///< where the operation was called

 private:
  std::string op_, message_;
  Location at_;
};

#define WEFT_ERROR_CLASS(Name)          \
  class WEFT_API Name : public Error {  \
   public:                              \
    using Error::Error;                 \
    ~Name() override;                   \
  }
WEFT_ERROR_CLASS(ShapeError);        ///< sizes or ranks do not fit
WEFT_ERROR_CLASS(DtypeError);        ///< an element type does not fit
WEFT_ERROR_CLASS(IndexError);        ///< an index or axis is out of range
WEFT_ERROR_CLASS(ValueError);        ///< a number or option is not allowed
WEFT_ERROR_CLASS(StateError);        ///< an object is not in a state that allows this
WEFT_ERROR_CLASS(TraceError);        ///< something that needs a value was asked of a symbolic tensor
WEFT_ERROR_CLASS(GradientError);     ///< no gradient can be formed
WEFT_ERROR_CLASS(ConflictError);     ///< somebody else changed what a transaction was about to change
WEFT_ERROR_CLASS(CheckError);        ///< a check that the program asked for did not hold
WEFT_ERROR_CLASS(NumericError);      ///< a value is not finite where that was asked for
WEFT_ERROR_CLASS(IoError);           ///< a file cannot be read or written
WEFT_ERROR_CLASS(OutOfMemoryError);  ///< the memory asked for cannot be had
#undef WEFT_ERROR_CLASS

/// A defect of Weft itself: an invariant did not hold. Please report it.
class WEFT_API InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& sentence, Location at = Location::here());
  ~InternalError() override;
};

}  // namespace weft::inline v0
