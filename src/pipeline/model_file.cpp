#include "quadrant/pipeline/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "ir/two_bits.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
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

// A file is found by its own name, whatever links lead to it.
Expected<void> check_ending(const std::string& path, ModelFormat format) {
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

Expected<ModelFormat> model_format(const std::string& path) {
  if (const auto format = known_format(path)) {
    QUADRANT_CHECK(check_ending(path, *format));
    return *format;
  }
  return fail(ErrorCode::usage,
              "the ending says which format to write: .onnx, .tflite, .xml for OpenVINO, .mlir, or "
              ".qd for text",
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

std::uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

std::uint64_t model_bytes(const std::string& path, const Graph& graph) {
  const std::uint64_t model = file_bytes(path);
  std::uint64_t constants = 0;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant == nullptr) continue;
    constants += packed_size(declared_element(graph.type({node})),
                             static_cast<std::uint64_t>(constant->element_count()));
  }
  // What does not fit into the model's own file lies in data files. The few tensors that are inline
  // all the same count twice: readers do not say which those are.
  return constants > model ? model + constants : model;
}

}  // namespace quadrant::inline v0
