// The picture of a training run: the loss of each step, what snapshots were worth, and the step that was made to fail.
#pragma once

#include <string>

#include "page.h"

std::string learning_curve(const Results& results);  ///< as SVG
