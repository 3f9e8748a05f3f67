#include "cli/model_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace quadrant::cli {
namespace {

constexpr std::array<std::pair<std::string_view, ModelFormat>, 5> endings{
    {{".onnx", ModelFormat::onnx},
     {".tflite", ModelFormat::tflite},
     {".xml", ModelFormat::openvino},
     {".mlir", ModelFormat::mlir},
     {".qd", ModelFormat::text}}};

std::optional<ModelFormat> known_format(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto* const found = std::ranges::find(endings, std::string_view(ending),
                                              &std::pair<std::string_view, ModelFormat>::first);
  return found == endings.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Expected<ModelFormat> model_format(const std::string& path) {
  if (const auto format = known_format(path)) return *format;
  return fail(ErrorCode::usage,
              "the ending says which format to write: .onnx, .tflite, .xml for OpenVINO, .mlir, or "
              ".qd for text",
              {.file = path});
}

Expected<void> check_onnx_ending(const std::string& path) {
  const ModelFormat format = read_format(path);
  if (format == ModelFormat::onnx) return {};
  return fail(ErrorCode::usage,
              fmt::format("this command writes ONNX files: 'quadrant convert' writes {} ones, and "
                          "quantizes with --scheme",
                          to_string(format)),
              {.file = path});
}

std::string_view to_string(ModelFormat format) noexcept {
  switch (format) {
    case ModelFormat::tflite:
      return "TFLite";
    case ModelFormat::openvino:
      return "OpenVINO";
    case ModelFormat::mlir:
      return "MLIR";
    case ModelFormat::text:
      return "text";
    case ModelFormat::onnx:
      break;
  }
  return "ONNX";
}

ModelFormat read_format(const std::string& path) {
  return known_format(path).value_or(ModelFormat::onnx);
}

}  // namespace quadrant::cli
