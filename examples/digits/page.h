// The page that the demo leaves behind: it needs nothing else, neither the network nor a script.
#pragma once

#include <string>
#include <vector>

#include "draw.h"

/// What a run has to show. Accuracies are from 0 to 1.
struct Results {
  struct Seen {
    int step = 0;
    double accuracy = 0;
  };
  std::vector<float> losses = {};      // of each training step
  std::vector<Seen> snapshots = {};    // what the second thread found
  int failed_step = -1;                // the one that was made to fail; -1: none
  double accuracy = 0, linear_accuracy = 0, seconds = 0;
  std::size_t parameters = 0, learned_from = 0;
  std::vector<int> labels = {}, predictions = {};  // of the test images
  std::vector<float> confidence = {};              // in each prediction
  weft::Tensor images = {};                        // the test images
  weft::Tensor confusion = {};                     // i32[10, 10]: rows are labels, columns predictions
};

std::string html_page(const Results& results);
