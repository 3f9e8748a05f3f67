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
#include "quadrant/support/new_file.hpp"
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

Expected<Graph> read_model(const std::string& path, Sink& sink) {
  switch (read_format(path)) {
    case ModelFormat::tflite:
      return read_tflite(path);
    case ModelFormat::openvino:
      return read_openvino(path, {.sink = &sink});
    case ModelFormat::mlir:
      return fail(ErrorCode::usage,
                  "MLIR is written alone: mlir-opt with the plug-in quantizes modules as they are",
                  {.file = path});
    case ModelFormat::text:
      return read_as(path, parse_model);
    case ModelFormat::onnx:
      break;
  }
  return read_onnx(path, {.sink = &sink});
}

Expected<Plan> read_plan(const std::string& path) { return read_as(path, parse_plan); }

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

Expected<void> write_text(const std::string& path, std::string_view text) {
  QUADRANT_TRY(NewFile file, NewFile::create(path));
  QUADRANT_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

Expected<void> check_output(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return fail(ErrorCode::io,
                fmt::format("cannot write the file: there is no directory '{}'", folder.string()),
                {.file = path});
  }
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) {
    return fail(ErrorCode::io, fmt::format("cannot write the file: {}", error.message()),
                {.file = path});
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return fail(ErrorCode::io, "cannot write the file: there is something that is no file",
                {.file = path});
  }
  return {};
}

Expected<void> check_side_output(const std::string& path, const std::string& model) {
  std::error_code ignored;
  if (fs::equivalent(path, model, ignored)) {
    return fail(ErrorCode::usage, "this is the model itself: name another file to write",
                {.file = path});
  }
  return check_output(path);
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  const auto whole = [&ignored](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  };
  return whole(a) == whole(b);
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
