// Everything Weft offers.
#pragma once

#if __cplusplus < 202002L
#error "Weft needs C++20: compile with -std=c++20."
#else

#include <weft/axes.h>
#include <weft/concrete.h>
#include <weft/control.h>
#include <weft/custom_gradient.h>
#include <weft/dtype.h>
#include <weft/each_call.h>
#include <weft/error.h>
#include <weft/forward.h>
#include <weft/function.h>
#include <weft/gradient.h>
#include <weft/index.h>
#include <weft/location.h>
#include <weft/loss_scale.h>
#include <weft/operators.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/print.h>
#include <weft/random.h>
#include <weft/reflect.h>
#include <weft/runtime.h>
#include <weft/schedule.h>
#include <weft/shape.h>
#include <weft/tape.h>
#include <weft/tensor.h>
#include <weft/transaction.h>
#include <weft/tree.h>
#include <weft/update.h>
#include <weft/variable.h>
#include <weft/walk.h>

#endif
