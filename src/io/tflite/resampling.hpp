// Which pixels of an image make those of a resized one, along one axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/tflite/lower.hpp"

namespace quadrant::inline v0::tflite {

/// How a node Resize or Upsample finds pixels.
struct Resampling {
  std::string mode;         ///< nearest, linear or cubic
  std::string coordinates;  ///< coordinate_transformation_mode
  std::string rounding;     ///< nearest_mode
  float cubic = -0.75F;     ///< cubic_coeff_a
};
[[nodiscard]] Resampling resampling_of(const NodeRef& node, bool has_modes);

/// The extents along an axis, and what ONNX computes places with: the scale that is given need not
/// be their quotient.
struct ResizedAxis {
  std::int64_t axis = 0;
  std::int64_t from = 1;
  std::int64_t to = 1;
  float scale = 1.0F;
};

/// For each pixel of the result one of the operand, and what to multiply it with.
struct Tap {
  std::vector<std::int32_t> pixels;
  std::vector<float> factors;  ///< empty: all are 1
};

/// The sum of these is the resized axis, as ONNX Runtime computes it: places are float32 numbers.
/// `impossible` for what is not known.
[[nodiscard]] std::vector<Tap> taps_of(const Resampling& how, const ResizedAxis& axis);

}  // namespace quadrant::inline v0::tflite
