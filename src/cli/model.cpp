#include "cli/model.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <system_error>

#include "cli/model_format.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/recipe/plan_json.hpp"
#include "quadrant/recipe/statistics_json.hpp"
#include "quadrant/support/input_file.hpp"
#include "recipe/node_names.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {

namespace fs = std::filesystem;

Expected<std::string> read_text(const std::string& path) {
  QUADRANT_TRY(const InputFile file, InputFile::open(path));
  return file.text(largest_text, "texts");
}

namespace {

// What `parse` makes of a file; its errors get the name.
template <class T>
Expected<T> read_as(const std::string& path, Expected<T> (*parse)(std::string_view)) {
  QUADRANT_TRY(const std::string text, read_text(path));
  Expected<T> result = parse(text);
  if (!result) result.error().place.file = path;
  return result;
}

}  // namespace

Expected<Graph> read_model(const std::string& path, Console& console) {
  switch (read_format(path)) {
    case ModelFormat::tflite:
      return read_tflite(path, &console.files());
    case ModelFormat::openvino:
      return read_openvino(
          path,
          {.sink = &console, .files = &console.files(), .follow_links = console.follow_links});
    case ModelFormat::mlir:
      return fail(ErrorCode::usage,
                  "MLIR is written alone: mlir-opt with the plug-in quantizes modules as they are",
                  {.file = path});
    case ModelFormat::text:
      return read_as(path, parse_model);
    case ModelFormat::onnx:
      break;
  }
  return read_onnx(
      path, {.sink = &console, .files = &console.files(), .follow_links = console.follow_links});
}

Expected<Plan> read_plan(const std::string& path) { return read_as(path, parse_plan); }

bool is_statistics_file(const std::string& path) { return fs::path(path).extension() == ".json"; }

Expected<StatisticsTable> read_statistics(const std::string& path) {
  return read_as(path, parse_statistics);
}

Expected<StatisticsTable> read_statistics_of(const Graph& graph, const std::string& path) {
  QUADRANT_TRY(StatisticsTable table, read_statistics(path));
  for (const auto& [name, statistics] : table.values) {
    if (!graph.find_value(name).is_absent()) continue;
    return fail(ErrorCode::usage,
                fmt::format("the model has no value '{}': these statistics are of another model{}",
                            name, did_you_mean(name, all_names(graph))),
                {.file = path});
  }
  return table;
}

std::uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

std::uint64_t model_bytes(const std::string& path, const Graph& graph) {
  const std::uint64_t model = file_bytes(path);
  std::uint64_t constants = 0;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant == nullptr) continue;
    constants +=
        packed_size(constant->element(), static_cast<std::uint64_t>(constant->element_count()));
  }
  // What does not fit into the model's own file lies in data files. The few tensors that are inline
  // all the same count twice: readers do not say which those are.
  return constants > model ? model + constants : model;
}

}  // namespace quadrant::cli
