// The formats of models, by the ending of the file's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

enum class ModelFormat : std::uint8_t {
  onnx,
  tflite,
  openvino,  ///< `.xml`, and a `.bin` beside it
  mlir,      ///< `.mlir`, which is only written
  text,      ///< `.qd`, what ir/text.hpp prints
};

/// `usage` for another ending, with those that there are, and for a link to a file whose ending
/// says another format.
[[nodiscard]] Expected<ModelFormat> model_format(const std::string& path);

/// `usage` for a file whose ending, or that of what it links to, says another format than ONNX: of
/// commands that write that alone.
[[nodiscard]] Expected<void> check_onnx_ending(const std::string& path);

/// `ONNX`, `TFLite`, `OpenVINO`, `MLIR`, `text`
[[nodiscard]] std::string_view to_string(ModelFormat format) noexcept;

/// The same for a file that is read: ONNX's have any ending.
[[nodiscard]] ModelFormat read_format(const std::string& path);

}  // namespace quadrant::cli
