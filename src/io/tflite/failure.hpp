// How this room fails: see support/failure.hpp. Every public function and every ConstantSource goes
// through `at_border`.
#pragma once

#include "support/failure.hpp"

namespace quadrant::inline v0::tflite {

using failures::at_border;
using failures::Failure;
using failures::impossible;
using failures::invalid;
using failures::value_of;

}  // namespace quadrant::inline v0::tflite
