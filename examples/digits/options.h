// What the demo can be told.
#pragma once

#include <string>

struct Options {
  int images = 20'000;             // to learn from; a fifth as many to be tested with
  int steps = 1'200;               // of training, with 100 images each
  int seed = 1;
  std::string out = "build/demo";  // where the page goes
};

/// Ends the program: after --help, and with a sentence and exit code 2 if something is wrong.
Options parse_options(int count, char** words);
