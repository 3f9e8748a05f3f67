#include "cli/onnx_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "quadrant/pipeline/model_file.hpp"

namespace quadrant::cli {
namespace {

// Endings of files of models that other tools read, and would not find in these.
constexpr std::array<std::string_view, 12> others{".gguf", ".safetensors", ".pt",     ".pth",
                                                  ".pb",   ".h5",          ".keras",  ".bin",
                                                  ".dlc",  ".mlmodel",     ".engine", ".ort"};

}  // namespace

Expected<void> check_onnx_ending(const std::string& path) {
  if (path.empty()) return {};  // nothing is written
  const ModelFormat format = read_format(path);
  const auto is_of = [&](std::string_view ending) { return path.ends_with(ending); };
  if (std::ranges::any_of(others, is_of)) {
    return fail(ErrorCode::usage,
                "this command writes ONNX files, and the ending says another format: name it .onnx",
                {.file = path});
  }
  if (format == ModelFormat::onnx) return check_ending(path, format);
  return fail(ErrorCode::usage,
              fmt::format("this command writes ONNX files: 'quadrant convert' writes {} ones, and "
                          "quantizes with --scheme",
                          to_string(format)),
              {.file = path});
}

}  // namespace quadrant::cli
