// The models: plain structs of Variables that can be called.
#pragma once

#include <string>

#include "draw.h"

using namespace weft;

struct Conv {
  Variable filters, bias;
  Tensor operator()(Tensor x) const { return conv2d(x, filters, {.padding = Padding::kSame}) + bias; }
};
inline Conv make_conv(std::string name, int side, int from, int to, Generator& random) {
  return {Variable{he_normal({side, side, from, to}, random), {.name = name + ".filters"}}, Variable{zeros({to}), {.name = name + ".bias"}}};
}

struct Dense {
  Variable weight, bias;
  Tensor operator()(Tensor x) const { return matmul(x, weight) + bias; }
};
inline Dense make_dense(std::string name, int from, int to, Generator& random) {
  return {Variable{glorot_uniform({from, to}, random), {.name = name + ".weight"}}, Variable{zeros({to}), {.name = name + ".bias"}}};
}

/// A small convolutional network: scores of the ten digits for each image.
struct Net {
  Conv edges, corners, shapes;
  Dense decision;
  Tensor operator()(Tensor images) const {
    Tensor x = relu(max_pool2d(edges(images), {2, 2}));
    x = relu(max_pool2d(corners(x), {2, 2}));
    x = relu(shapes(x));
    return decision(reshape(x, {-1, 7 * 7 * 32}));
  }
};
inline Net make_net(Generator& random) {
  return {make_conv("edges", 5, 1, 8, random), make_conv("corners", 3, 8, 16, random), make_conv("shapes", 3, 16, 32, random),
          make_dense("decision", 7 * 7 * 32, kDigits, random)};
}

/// What one learns without convolutions: each pixel speaks for or against each digit.
struct Linear {
  Dense decision;
  Tensor operator()(Tensor images) const { return decision(reshape(images, {-1, kSide * kSide})); }
};
inline Linear make_linear(Generator& random) { return {make_dense("decision", kSide * kSide, kDigits, random)}; }
