// The models that weft_bench trains: plain structs of Variables, each with the loss of one batch.
#pragma once

#include <array>
#include <cmath>
#include <tuple>

#include "ours.h"

namespace ours {

/// Hands out the values that Variables begin with, in the order of the inputs.
class Values {
 public:
  Values(const Tensors& x, std::size_t first) : x_(x), next_(first) {}
  Variable next() { return Variable(identity(x_.at(next_++))); }
  Dense dense() { return {next(), next()}; }
  std::size_t left() const { return x_.size() - next_; }

 private:
  const Tensors& x_;
  std::size_t next_;
};

inline Tensor class_loss(const Tensor& labels, const Tensor& scores) { return mean(sparse_softmax_cross_entropy(labels, scores)); }

/// Layers with relu between them.
struct Mlp {
  std::vector<Dense> hidden;
  Dense top;
  static Mlp make(Values& values) {
    std::vector<Dense> hidden;
    while (values.left() > 2) hidden.push_back(values.dense());
    return {std::move(hidden), values.dense()};
  }
  Tensor operator()(Tensor x) const {
    for (const Dense& layer : hidden) x = relu(layer(x));
    return top(x);
  }
  Tensor loss(const Tensor& images, const Tensor& labels) const { return class_loss(labels, (*this)(images)); }
};

/// Two pairs of convolutions, each pair with a pool behind it, and two dense layers.
struct Cnn {
  struct Conv {
    Variable filters, bias;
    Tensor operator()(const Tensor& x) const { return relu(conv2d(x, filters, {.padding = Padding::kSame}) + bias); }
  };
  std::array<Conv, 4> convs;
  Dense hidden, top;
  static Cnn make(Values& values) {
    const auto conv = [&] { return Conv{values.next(), values.next()}; };
    return {{conv(), conv(), conv(), conv()}, values.dense(), values.dense()};
  }
  Tensor loss(const Tensor& images, const Tensor& labels) const {
    Tensor x = max_pool2d(convs[1](convs[0](images)), {2, 2});
    x = max_pool2d(convs[3](convs[2](x)), {2, 2});
    x = relu(hidden(reshape(x, {x.shape()[0], -1})));
    return class_loss(labels, top(x));
  }
};

/// A row of each table, found by an id, and some numbers: will it be clicked?
struct Recommender {
  static constexpr int kTables = 8;
  std::vector<Variable> tables;
  Mlp net;
  static Recommender make(Values& values) {
    std::vector<Variable> tables;
    for (int i = 0; i < kTables; ++i) tables.push_back(values.next());
    return {std::move(tables), Mlp::make(values)};
  }
  Tensor loss(const Tensor& numbers, const Tensor& ids, const Tensor& clicked) const {
    Tensors parts{numbers};
    for (int i = 0; i < kTables; ++i) parts.push_back(gather(tables[static_cast<std::size_t>(i)], ids[i]));
    const Tensor scores = net(concat(parts, 1));
    return mean(sigmoid_cross_entropy(expand_dims(cast(clicked, f32), 1), scores));
  }
};

/// A recurrent layer over sequences [time, batch, features], and a dense layer on its last state.
struct Lstm {
  Variable input, recurrent, bias;  // gates side by side: input, forget, candidate, output
  Dense top;
  static Lstm make(Values& values) { return {values.next(), values.next(), values.next(), values.dense()}; }
  struct State {
    Tensor h, c;
  };
  State step(const State& before, const Tensor& x) const {
    const Tensors gates = split(x + matmul(before.h, recurrent), {4}, {.axis = 1});
    const Tensor c = sigmoid(gates[1]) * before.c + sigmoid(gates[0]) * tanh(gates[2]);
    return {sigmoid(gates[3]) * tanh(c), c};
  }
  Tensor loss(const Tensor& sequences, const Tensor& labels) const {
    const Tensor x = matmul(sequences, input) + bias;  // of all times at once
    const Tensor start = zeros({sequences.shape()[1], recurrent.shape()[0]});
    State state{start, start};
    for (const Tensor& now : unstack(x)) state = step(state, now);  // the same as a `fold` takes 1.4 times as long
    return class_loss(labels, top(state.h));
  }
};

/// A transformer that predicts the next token of each.
struct Gpt {
  static constexpr int kHeads = 4;
  struct Norm {
    Variable scale, offset;
    Tensor operator()(const Tensor& x) const { return layer_norm(x, scale, offset, {.epsilon = 1e-5}); }
  };
  struct Block {
    Norm before_attention;
    Dense queries_keys_values, joined;
    Norm before_mlp;
    Dense up, down;
    Tensor attention(const Tensor& x, const Tensor& mask) const {  // x [batch, time, width]
      const std::int64_t batch = x.shape()[0], time = x.shape()[1], width = x.shape()[2], each = width / kHeads;
      const Tensor heads = transpose(reshape(queries_keys_values(x), {batch, time, 3, kHeads, each}), {.perm = {2, 0, 3, 1, 4}});
      const Tensors qkv = unstack(heads);
      const Tensor scores = matmul(qkv[0], qkv[1], {.transpose_b = true}) * (1 / std::sqrt(static_cast<float>(each))) + mask;
      const Tensor seen = matmul(softmax(scores), qkv[2]);
      return joined(reshape(transpose(seen, {.perm = {0, 2, 1, 3}}), {batch, time, width}));
    }
    Tensor operator()(Tensor x, const Tensor& mask) const {
      x = x + attention(before_attention(x), mask);
      return x + down(gelu(up(before_mlp(x)), {.approximate = true}));
    }
  };
  Variable tokens, positions;
  std::vector<Block> blocks;
  Norm last;
  Variable head;
  static Gpt make(Values& values) {
    const auto norm = [&] { return Norm{values.next(), values.next()}; };
    Variable tokens = values.next(), positions = values.next();
    std::vector<Block> blocks;
    while (values.left() > 3) blocks.push_back({norm(), values.dense(), values.dense(), norm(), values.dense(), values.dense()});
    return {std::move(tokens), std::move(positions), std::move(blocks), norm(), values.next()};
  }
  Tensor loss(const Tensor& text, const Tensor& following) const {  // [batch, time]
    const std::int64_t time = text.shape()[1];
    const Tensor mask = (1 - band_part(ones({time, time}), -1, 0)) * -1e9f;  // nobody sees what comes later
    Tensor x = gather(tokens, text) + positions;
    for (const Block& block : blocks) x = block(x, mask);
    return class_loss(following, matmul(last(x), head));
  }
};

}  // namespace ours
