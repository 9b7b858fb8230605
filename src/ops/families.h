// The families of rows. A new family is one line here and one file beside this one.
#pragma once

#include "ops/table.h"

namespace weft::inline v0::rows {

[[gnu::cold]] std::vector<Op> pointwise();   // pointwise.cc
[[gnu::cold]] std::vector<Op> elementary();  // elementary.cc
[[gnu::cold]] std::vector<Op> compare();     // compare.cc
[[gnu::cold]] std::vector<Op> activation();  // activation.cc
[[gnu::cold]] std::vector<Op> reduce();      // reduce.cc
[[gnu::cold]] std::vector<Op> shape();       // shape.cc
[[gnu::cold]] std::vector<Op> slice();       // slice.cc
[[gnu::cold]] std::vector<Op> create();      // create.cc
[[gnu::cold]] std::vector<Op> gather();      // gather.cc
[[gnu::cold]] std::vector<Op> segment();     // segment.cc
[[gnu::cold]] std::vector<Op> sort();        // sort.cc
[[gnu::cold]] std::vector<Op> matmul();      // matmul.cc
[[gnu::cold]] std::vector<Op> linalg();      // linalg.cc
[[gnu::cold]] std::vector<Op> conv();        // conv.cc
[[gnu::cold]] std::vector<Op> pool();        // pool.cc
[[gnu::cold]] std::vector<Op> nn();          // nn.cc
[[gnu::cold]] std::vector<Op> random();      // random.cc
[[gnu::cold]] std::vector<Op> optimize();    // optimize.cc

inline std::vector<Family> all_families() {
  return {
      {"pointwise", "Arithmetic and rounding.", pointwise()},
      {"elementary", "Elementary and special functions.", elementary()},
      {"compare", "Comparisons, logic and bits.", compare()},
      {"activation", "Activation functions.", activation()},
      {"reduce", "Reductions and running totals.", reduce()},
      {"shape", "Shapes, joining and splitting.", shape()},
      {"slice", "Slicing, padding and reordering.", slice()},
      {"create", "Creation and conversion.", create()},
      {"gather", "Gathering and scattering.", gather()},
      {"segment", "Segments, counting and masks.", segment()},
      {"sort", "Sorting and searching.", sort()},
      {"matmul", "Products of matrices and tensors.", matmul()},
      {"linalg", "Linear algebra.", linalg()},
      {"conv", "Convolution.", conv()},
      {"pool", "Pooling and resizing.", pool()},
      {"nn", "Softmax, losses, normalisation and clipping.", nn()},
      {"random", "Random numbers from a key and a counter.", random()},
      {"optimize", "Steps of optimizers.", optimize()},
  };
}

}  // namespace weft::inline v0::rows
