// A random program on Variables, as a tree that can be run (machine.h), printed and made smaller.
//
// All programs use the same Variables, arguments and types; what differs is what they do with them, which of the Variables are passed and
// which are two names for one, and what the calls are given. Every expression and statement has a line of its own, the line that errors
// name, so that two runs can be seen to fail at the same place.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/dtype.h>

namespace weft::fuzz {

enum class Size : std::uint8_t { kScalar, kVector, kMatrix, kLong };  // [], [4], [2,3], and [n] where n differs from call to call
struct Type {
  DType dtype = f32;
  Size size = Size::kScalar;
  bool operator==(const Type&) const = default;
};
constexpr Type kNumber{f32, Size::kScalar}, kVector{f32, Size::kVector}, kMatrix{f32, Size::kMatrix}, kLong{f32, Size::kLong};
constexpr Type kInteger{i32, Size::kScalar}, kIntegers{i32, Size::kVector}, kTruth{bool_, Size::kScalar};

/// What every program has.
struct Named {
  const char* name;
  Type type;
};
constexpr std::array<Named, 10> kSlots{{{"f0", kNumber}, {"f1", kNumber}, {"f2", kNumber}, {"v0", kVector}, {"v1", kVector},
                                        {"m0", kMatrix}, {"m1", kMatrix}, {"i0", kInteger}, {"i1", kInteger}, {"k0", kIntegers}}};
constexpr std::array<Named, 5> kArguments{{{"x", kNumber}, {"v", kVector}, {"m", kMatrix}, {"i", kInteger}, {"u", kLong}}};
constexpr int kScalarSlots = 3;  // the first ones: those that may be passed

/// Handles to Variables: one that is captured for each slot, a second one for some slot, two that are passed to the program, and two that
/// are passed to an inner function.
constexpr int kAlias = static_cast<int>(kSlots.size()), kPassed = kAlias + 1, kInner = kPassed + 2, kHandles = kInner + 2;

/// Loops without a carried value count in Variables; those in inner functions have their own.
constexpr int kCounters = 5, kInnerCounter = 3;

struct Expr {
  enum class Kind : std::uint8_t {
    kConstant, kArgument, kLocal, kRead,
    kNegative, kAbs, kTanh, kSquare, kSigmoid, kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum, kFloorDiv, kFloorMod,
    kSum, kMean, kMax, kElement, kCumsum, kTurned, kMatmul, kGather, kCast, kClip, kWhere, kLess, kEqual,
    kGradient,  // of the sum of in[0], with respect to the handle `which`; `other` is a Slope
    kDraw, kCall, kCond, kFold, kScan, kMap,
    kRepeat,  // a while_loop: in = {turns, first, next}, the local `which` is what is carried
    kExact    // in[0] as a small whole number, through which a gradient flows as if it were in[0]
  };
  Kind kind = Kind::kConstant;
  Type type{};
  int which = 0;      // an argument, local, handle, function, or position
  int other = 0;      // the handles that a call passes, or a flag
  double number = 0;
  std::vector<Expr> in{};
  int line = 0;
};

/// How a gradient is looked at. kSigned: bit for bit. kUnsigned: without signs of zeros and NaNs. kWhole: of a target made of small whole numbers, in
/// which sums are exact in any order: a traced loop adds up what its turns contribute before it adds the rest.
enum Slope : std::uint8_t { kSigned, kUnsigned, kWhole };

struct Stmt {
  enum class Kind : std::uint8_t {
    kLet,  // the next local
    kAssign, kAssignAdd, kAssignSub, kSliceAssign, kSliceAdd, kScatterAdd, kScatterUpdate, kSwap,
    kIf, kSwitch, kWhile, kLoop, kCheck,
    kBlock,  // of atomically
    kUndone  // the same, left by an exception that is caught outside of it
  };
  Kind kind = Kind::kLet;
  int which = 0, other = 0;  // handles, or a position
  std::vector<Expr> in{};
  std::vector<std::vector<Stmt>> blocks{};
  int line = 0;
};
using Block = std::vector<Stmt>;

/// An inner function of a number and two Variables.
struct Inner {
  Block body;
  Expr result;
};

/// What one call is given.
struct Call {
  std::uint64_t values = 0;            // seed of the arguments
  int index = 0;                       // the argument `i`
  int length = 4;                      // of the argument `u`
  std::array<int, 2> passed{0, 1};     // slots
  int written_before = -1;             // a slot that is assigned outside, before the call
};

struct Program {
  enum class Form : std::uint8_t { kTensors, kTree };  // Tensors to one Tensor; or a struct with Variables to a vector
  enum class Sizes : std::uint8_t { kKnown, kReduced, kDeclared };  // a trace for each length, or one for all
  std::uint64_t seed = 0;
  Form form = Form::kTensors;
  Sizes sizes = Sizes::kKnown;
  int alias = 0;  // the slot of that handle
  std::vector<Inner> functions;
  Block body;
  std::vector<Expr> results;
  std::vector<Call> calls;

  Type type_of(int handle) const;
  std::string str() const;
};

/// Gives each expression and statement its line, in the order of printing.
void number_lines(Program& program);


/// What programs are made of; at least a tenth of them does each.
enum class Feature : std::uint8_t {
  kAssigns, kReads, kBranches, kLoops, kThrows, kThrowsAfterWrite, kNestedCalls, kAliases, kSlices, kScatters, kGradients, kDraws,
  kInnerBlocks, kUndoneBlocks, kSwaps, kRetraces, kBranchGradients, kLoopGradients, kCount
};
constexpr std::size_t kFeatures = static_cast<std::size_t>(Feature::kCount);
using Features = std::bitset<kFeatures>;
const char* name_of(Feature feature);

/// Numbers that are the same with every library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull) {}
  std::uint64_t bits() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>((bits() >> 32) * static_cast<std::uint64_t>(n) >> 32); }
  bool chance(int percent) { return below(100) < percent; }
  float real() { return static_cast<float>(below(4001) - 2000) / 1000.f; }  // -2 ... 2

 private:
  std::uint64_t state_;
};

}  // namespace weft::fuzz
