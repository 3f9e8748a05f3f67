#include "cli/onnx_output.hpp"

#include <fmt/format.h>

#include "quadrant/pipeline/model_file.hpp"

namespace quadrant::cli {

Expected<void> check_onnx_ending(const std::string& path) {
  if (path.empty()) return {};  // nothing is written
  const ModelFormat format = read_format(path);
  if (format == ModelFormat::onnx) return check_ending(path, format);
  return fail(ErrorCode::usage,
              fmt::format("this command writes ONNX files: 'quadrant convert' writes {} ones, and "
                          "quantizes with --scheme",
                          to_string(format)),
              {.file = path});
}

}  // namespace quadrant::cli
