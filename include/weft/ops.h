// Every op, family by family; docs/ops.md is the reference.
//
// Ops are pure functions of their arguments and are thread-safe. Each throws the Error subclasses that its checks call
// for (ShapeError, DtypeError, IndexError, ValueError, OutOfMemoryError) and then has no effect. `at` is the caller's line, for
// errors.
//
// Derived from the op table by ./scripts/generate; do not edit.
#pragma once

#include <weft/ops/pointwise.h>
#include <weft/ops/elementary.h>
#include <weft/ops/compare.h>
#include <weft/ops/activation.h>
#include <weft/ops/reduce.h>
#include <weft/ops/shape.h>
#include <weft/ops/slice.h>
#include <weft/ops/create.h>
#include <weft/ops/gather.h>
#include <weft/ops/segment.h>
#include <weft/ops/sort.h>
#include <weft/ops/matmul.h>
#include <weft/ops/linalg.h>
#include <weft/ops/conv.h>
#include <weft/ops/pool.h>
#include <weft/ops/nn.h>
#include <weft/ops/random.h>
#include <weft/ops/optimize.h>
