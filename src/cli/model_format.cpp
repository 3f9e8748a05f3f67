#include "cli/model_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "quadrant/support/new_file.hpp"

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

// A file is found by its own name, whatever links lead to it.
Expected<void> check_target_of_link(const std::string& path, ModelFormat format) {
  const std::string target = resolved_path(path);
  const ModelFormat named = known_format(target).value_or(format);
  if (named == format) return {};
  return fail(
      ErrorCode::usage,
      fmt::format("this is a link to '{}', whose ending says {}, and what is written is {}: "
                  "name another file",
                  target, to_string(named), to_string(format)),
      {.file = path});
}

}  // namespace

Expected<ModelFormat> model_format(const std::string& path) {
  if (const auto format = known_format(path)) {
    QUADRANT_CHECK(check_target_of_link(path, *format));
    return *format;
  }
  return fail(ErrorCode::usage,
              "the ending says which format to write: .onnx, .tflite, .xml for OpenVINO, .mlir, or "
              ".qd for text",
              {.file = path});
}

Expected<void> check_onnx_ending(const std::string& path) {
  const ModelFormat format = read_format(path);
  if (format == ModelFormat::onnx) return check_target_of_link(path, format);
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
