// What a row file includes: the row type, shared inference, lanes, samples, and the public ops that gradients are written in.
#pragma once

#include <cstring>

#include "core/infer.h"
#include "core/op.h"
#include "core/sample.h"
#include "ops/batch.h"
#include "ops/lane.h"
#include <weft/operators.h>
#include <weft/ops.h>

namespace weft::inline v0::rows {

// In a row file f32({2, 3}) is a sample; the dtype constants are DType::f32 there.
using sample::boolean;
using sample::f32;
using sample::i32;
using sample::i64;
using sample::u32;
using sample::u64;

// A composed row or a gradient of 16-bit floats computes in f32 and rounds once, as a kernel does.
inline Tensor widened(const Tensor& x) { return is_half(x.dtype()) ? cast(x, DType::f32) : x; }
inline Tensor narrowed(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

// Begins a kernel that changes a few places of its first input: with a copy, unless the result lies where that does.
inline void start_from_first(KernelCall& call) {
  if (call.out<char>() == call.in<char>(0)) return;
  std::memcpy(call.out<char>(), call.in<char>(0), static_cast<std::size_t>(call.inputs[0].size()) * size_of(call.dtype(0)));
}

}  // namespace weft::inline v0::rows
