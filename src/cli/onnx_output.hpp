// What commands that write ONNX alone ask of the name of their output.
#pragma once

#include <string>

#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// `usage` for a file whose ending, or that of what it links to, says another format, one of ours
/// or of other tools.
[[nodiscard]] Expected<void> check_onnx_ending(const std::string& path);

}  // namespace quadrant::cli
