// What is trained, one step of it, and how good it is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model.h"

constexpr int kBatch = 100;  // images in a step

struct Hyper {
  Variable learning_rate{0.f, {.name = "learning_rate"}};
};

/// Everything that changes while a model is trained.
template <class Model>
struct Training {
  Model model;
  Hyper hyper = {};
  Adam adam{{.learning_rate = hyper.learning_rate}};
};

struct Outcome {
  Tensor loss, accuracy;
};
using Step = Function<Outcome(Tensor, Tensor)>;

/// One step, traced: forward pass, backward pass and optimizer are one program, which changes all that it changes at its end.
template <class Model>
Step training_step(Training<Model>& training) {
  return {[&](Tensor images, Tensor labels) {
            GradientTape tape;
            Tensor scores = training.model(images);
            Tensor loss = mean(sparse_softmax_cross_entropy(labels, scores));
            training.adam.apply(tape.gradient(loss, training.model), training.model);
            check(is_finite(loss), "the loss must be finite");
            return Outcome{loss, mean(cast(argmax(scores, {.axis = 1, .dtype = i32}) == labels, f32))};
          },
          {.name = "step", .args = {"images", "labels"}}};
}

/// Half a wave from `most` down to nothing, after a short rise.
inline float rate_at(int step, int steps, float most) {
  const float rise = std::min(1.f, (step + 1) / (0.05f * steps + 1)), done = static_cast<float>(step) / steps;
  return most * rise * 0.5f * (1 + std::cos(3.14159265f * done));
}

/// The digits in random order, again and again, kBatch at once (or all, if there are fewer).
class Batches {
 public:
  Batches(const Digits& digits, Generator& random) : digits_(digits), random_(random), size_(std::min<std::int64_t>(kBatch, digits.labels.size())) {}
  std::int64_t count() const { return digits_.labels.size() / size_; }  // until all have been there
  Digits next() {
    if (at_ % count() == 0) order_ = random_.permutation(digits_.labels.size());
    const std::int64_t first = at_++ % count() * size_;
    Tensor rows = order_(range(first, first + size_));
    return {gather(digits_.images, rows), gather(digits_.labels, rows)};
  }

 private:
  Digits digits_;
  Generator& random_;
  std::int64_t size_, at_ = 0;
  Tensor order_;
};

/// The probability of each digit, for each image. Whichever model is passed, there is one trace for each number of images.
template <class Model>
using Predict = Function<Tensor(const Model&, Tensor)>;
template <class Model>
Predict<Model> prediction() {
  return {[](const Model& model, Tensor images) { return softmax(model(images)); }, {.name = "predict", .args = {"model", "images"}}};
}

/// The same for any number of images, some hundreds at a time.
template <class Model>
Tensor probabilities(const Predict<Model>& predict, const Model& model, const Tensor& images) {
  std::vector<Tensor> parts;
  for (std::int64_t first = 0, count = images.shape()[0]; first < count; first += 500)
    parts.push_back(predict(model, images(range(first, std::min<std::int64_t>(first + 500, count)))));
  return concat(parts, 0);
}

template <class Model>
double accuracy(const Predict<Model>& predict, const Model& model, const Digits& digits) {
  Tensor found = argmax(probabilities(predict, model, digits.images), {.axis = 1, .dtype = i32});
  return mean(cast(found == digits.labels, f32)).item<double>();
}
