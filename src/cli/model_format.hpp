// The formats of models, by the ending of the file's name.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

enum class ModelFormat : std::uint8_t {
  onnx,
  tflite,
  text,  ///< `.qd`, what ir/text.hpp prints
};

/// `usage` for another ending, with those that there are.
[[nodiscard]] Expected<ModelFormat> model_format(const std::string& path);

/// The same for a file that is read: ONNX's have any ending.
[[nodiscard]] ModelFormat read_format(const std::string& path);

}  // namespace quadrant::cli
