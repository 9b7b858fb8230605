// Draws digits, learns to read them, and shows what it has learned. Run it with ./scripts/demo.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "evaluator.h"
#include "options.h"
#include "page.h"
#include "progress.h"
#include "train.h"

namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void heading(std::string_view text) { print("\n== {} ==", text); }

/// What a linear classifier makes of the same digits: its best moment, though one could not know which that is.
double linear_accuracy(const Digits& train, const Digits& test, int steps, Generator& random) {
  Training<Linear> training{make_linear(random)};
  Step step = training_step(training);
  Predict<Linear> predict = prediction<Linear>();
  Batches batches(train, random);
  double best = 0;
  for (int i = 0; i < steps; ++i) {
    training.hyper.learning_rate.assign(rate_at(i, steps, 0.003f));
    const auto [images, labels] = batches.next();
    step(images, labels);
    if ((i + 1) % 100 == 0 || i + 1 == steps) best = std::max(best, accuracy(predict, training.model, test));
  }
  return best;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const auto same = [&]<class T>(T) { return std::memcmp(a.data<T>(), b.data<T>(), sizeof(T) * a.size()) == 0; };
  return a.dtype() == f32 ? same(float{}) : same(std::int64_t{});  // counters are i64
}

/// One step that fails when everything has been computed, the optimizer's work included: an image has a pixel that is no number.
std::string fail_a_step(const Step& step, const Training<Net>& training, const Digits& batch) {
  const float poison = std::numeric_limits<float>::quiet_NaN();
  Variable images{batch.images};
  images(0, 0, 0, 0).assign(poison);
  const Snapshot before = snapshot(training);
  try {
    step(images, batch.labels);
  } catch (const CheckError& error) {
    const Snapshot after = snapshot(training);
    int differ = 0;
    for (std::size_t i = 0; i < before.size(); ++i) differ += !same_bits(before.values()[i], after.values()[i]);
    return format("Step {} was given a pixel that is no number: `{}` Of {} Variables, weights, momenta and counters, {} have changed.",
                  training.adam.steps() + 1, error.message(), before.size(), differ);
  }
  return "A step with a pixel that is no number did not fail.";
}

void print_confusion(const Tensor& confusion) {
  const std::vector<int> counts = confusion.to_vector<int>();
  std::string columns = "is \\ read as";
  for (int p = 0; p < kDigits; ++p) columns += format("{:6}", p);
  print("{}", columns);
  for (int label = 0; label < kDigits; ++label) {
    std::string row = format("{:12}", label);
    for (int p = 0; p < kDigits; ++p) row += counts[label * kDigits + p] == 0 ? "     ." : format("{:6}", counts[label * kDigits + p]);
    print("{}", row);
  }
}

/// The loop. What it changes lives in `training`; what there is to show of it goes into `results`.
void train(Training<Net>& training, const Step& step, Batches& batches, Evaluator& evaluator, int steps, Results& results) {
  const int per_epoch = static_cast<int>(batches.count());
  Progress progress((steps + per_epoch - 1) / per_epoch);
  double loss = 0, right = 0;  // sums over the epoch
  for (int i = 0; i < steps; ++i) {
    const int place = i % per_epoch;
    if (place == 0) loss = right = 0, progress.begin_epoch(i / per_epoch + 1, std::min(per_epoch, steps - i));
    if (i == steps - steps / 10) step.profile(steps / 10);  // explain() will have the times of the last steps

    training.hyper.learning_rate.assign(rate_at(i, steps, 0.004f));
    const Digits batch = batches.next();
    if (i == steps / 2) {
      results.failed_step = i;
      progress.say(fail_a_step(step, training, batch));
    }
    const Outcome outcome = step(batch.images, batch.labels);

    results.losses.push_back(outcome.loss.item<float>());
    loss += results.losses.back(), right += outcome.accuracy.item<double>();
    progress.step(place + 1, {{"accuracy", right / (place + 1)}, {"loss", loss / (place + 1)}, {"test_accuracy", evaluator.latest()},
                              {"learning_rate", training.hyper.learning_rate.value().item<double>()}});
  }
}

void read_test(const Net& net, const Digits& test, Results& results) {
  const Tensor found = probabilities(prediction<Net>(), net, test.images);
  const Tensor predictions = argmax(found, {.axis = 1, .dtype = i32});
  results.images = test.images;
  results.labels = test.labels.to_vector<int>();
  results.predictions = predictions.to_vector<int>();
  results.confidence = max(found, {.axis = 1}).to_vector<float>();
  results.confusion = confusion_matrix(test.labels, predictions, kDigits);
  results.accuracy = mean(cast(predictions == test.labels, f32)).item<double>();
}

void demo(const Options& options, const std::filesystem::path& folder) {
  Results results{.learned_from = static_cast<std::size_t>(options.images)};
  Generator random{options.seed};
  Stopwatch drawing;
  const Digits digits = draw_digits(options.images, random), test = draw_digits(options.images / 5, random);
  print("Drew {} digits to learn from and {} to be tested with in {:.1f} s, seed {}.", options.images, options.images / 5, drawing.seconds(), options.seed);

  Stopwatch plain;
  results.linear_accuracy = linear_accuracy(digits, test, options.steps, random);
  print("A linear classifier reads {:.1f} % of the test digits at its best, after {} steps and {:.1f} s.", results.linear_accuracy * 100, options.steps,
        plain.seconds());

  heading("A convolutional network, as plain structs");
  Training<Net> training{make_net(random)};
  const TreeSummary table = summary(training.model);
  results.parameters = static_cast<std::size_t>(table.elements);
  print("{}", table);

  heading("Training");
  Stopwatch training_time;
  Step step = training_step(training);
  Batches batches(digits, random);
  Evaluator evaluator(training, test, std::max(1, options.steps / 20));
  train(training, step, batches, evaluator, options.steps, results);
  results.snapshots = evaluator.finish();
  results.seconds = training_time.seconds();
  read_test(training.model, test, results);
  print("Test accuracy {:.2f} % after {:.1f} s; a second thread evaluated {} snapshots meanwhile.", results.accuracy * 100, results.seconds,
        results.snapshots.size());

  heading("What the step does: step.explain()");
  print("{}", step.explain());
  heading("What it takes for what");
  print_confusion(results.confusion);

  const std::string page = folder / "digits.html";
  if (!(std::ofstream(page) << html_page(results)).flush()) throw std::runtime_error(page + " cannot be written.");
  step.graph().write(folder / "step.html");
  print("\nOpen {} to see the digits, what the network says about them, and how it learned.", page);
}

}  // namespace

int main(int count, char** words) {
  const Options options = parse_options(count, words);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // in a log, lines stay in order with those of the progress
  const std::filesystem::path folder = std::filesystem::absolute(options.out);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);  // before the work, not after it
  if (!std::filesystem::is_directory(folder, failed)) {
    std::fprintf(stderr, "digits: %s cannot be made a folder; give --out another one.\n", options.out.c_str());
    return 2;
  }
  try {
    demo(options, folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
  return 0;
}
