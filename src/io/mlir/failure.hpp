// How this room fails: see support/failure.hpp. Every public function goes through `at_border`.
#pragma once

#include "support/failure.hpp"

namespace quadrant::inline v0::mlir_ir {

using failures::at_border;
using failures::Failure;
using failures::impossible;
using failures::in_node;
using failures::invalid;
using failures::printable;
using failures::value_of;

}  // namespace quadrant::inline v0::mlir_ir
