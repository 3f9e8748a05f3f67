// How this room fails: see support/failure.hpp. Every public function and every ConstantSource goes
// through `at_border`.
#pragma once

#include <fmt/format.h>

#include <protozero/exception.hpp>
#include <string>
#include <utility>

#include "support/failure.hpp"

namespace quadrant::inline v0::onnx {

using failures::Failure;
using failures::impossible;
using failures::in_node;
using failures::in_tensor;
using failures::invalid;
using failures::io_failure;
using failures::printable;
using failures::value_of;

template <class Body>
auto at_border(const std::string& file, Body&& body) -> Expected<decltype(body())> {
  return failures::at_border<protozero::exception>(file, std::forward<Body>(body));
}

}  // namespace quadrant::inline v0::onnx
