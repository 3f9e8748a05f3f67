// Small ONNX models, made field by field, and a folder to keep them in.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/io/onnx.hpp"
#include "temporary_folder.hpp"

namespace onnx_test {

using namespace quadrant;

// --- messages ---

/// A message's fields, one after another: `Fields().text(1, "x").message(2, ...)`.
class Fields {
 public:
  Fields& integer(std::uint32_t field, std::int64_t value) {
    writer().add_int64(field, value);
    return *this;
  }
  Fields& real(std::uint32_t field, float value) {
    writer().add_float(field, value);
    return *this;
  }
  Fields& text(std::uint32_t field, std::string_view value) {
    writer().add_bytes(field, value.data(), value.size());
    return *this;
  }
  Fields& message(std::uint32_t field, const Fields& value) { return text(field, value.bytes_); }
  Fields& packed(std::uint32_t field, const std::vector<std::int64_t>& values) {
    writer().add_packed_int64(field, values.begin(), values.end());
    return *this;
  }
  Fields& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  protozero::pbf_writer writer() { return protozero::pbf_writer(bytes_); }
  std::string bytes_;
};

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (const T& value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

inline constexpr int float32 = 1;
inline constexpr int int64 = 7;

/// A TensorProto without contents.
inline Fields tensor(std::string_view name, std::int64_t data_type,
                     std::initializer_list<std::int64_t> dims) {
  Fields fields;
  for (const std::int64_t extent : dims) fields.integer(1, extent);
  fields.integer(2, data_type);
  if (!name.empty()) fields.text(8, name);
  return fields;
}

inline Fields floats(std::string_view name, std::initializer_list<std::int64_t> dims,
                     std::initializer_list<float> values) {
  return tensor(name, float32, dims).text(9, bytes_of(values));
}

/// A ValueInfoProto; an extent of -1 is left open.
inline Fields value_info(std::string_view name, std::initializer_list<std::int64_t> dims,
                         std::int64_t data_type = float32) {
  Fields shape;
  for (const std::int64_t extent : dims) {
    shape.message(1, extent < 0 ? Fields() : Fields().integer(1, extent));
  }
  const Fields type = Fields().message(1, Fields().integer(1, data_type).message(2, shape));
  return Fields().text(1, name).message(2, type);
}

/// A NodeProto; more fields can follow.
inline Fields node(std::string_view op_type, std::initializer_list<std::string_view> inputs,
                   std::initializer_list<std::string_view> outputs, std::string_view name = {}) {
  Fields fields;
  for (const std::string_view input : inputs) fields.text(1, input);
  for (const std::string_view output : outputs) fields.text(2, output);
  if (!name.empty()) fields.text(3, name);
  return fields.text(4, op_type);
}

inline Fields int_attribute(std::string_view name, std::int64_t value) {
  return Fields().text(1, name).integer(3, value).integer(20, 2);
}

inline Fields tensor_attribute(std::string_view name, const Fields& tensor) {
  return Fields().text(1, name).message(5, tensor).integer(20, 4);
}

struct GraphParts {
  std::vector<Fields> nodes;
  std::vector<Fields> initializers;
  std::vector<Fields> inputs;
  std::vector<Fields> outputs;
  std::vector<Fields> value_infos;
};

inline Fields graph(const GraphParts& parts) {
  Fields fields;
  for (const Fields& part : parts.nodes) fields.message(1, part);
  fields.text(2, "g");
  for (const Fields& part : parts.initializers) fields.message(5, part);
  for (const Fields& part : parts.inputs) fields.message(11, part);
  for (const Fields& part : parts.outputs) fields.message(12, part);
  for (const Fields& part : parts.value_infos) fields.message(13, part);
  return fields;
}

inline Fields model(const GraphParts& parts, std::int64_t opset = 17) {
  return Fields().integer(1, 8).message(7, graph(parts)).message(8, Fields().integer(2, opset));
}

/// x[2,3] times w[3,2].
inline GraphParts matmul_parts() {
  return {.nodes = {node("MatMul", {"x", "w"}, {"y"}, "dense")},
          .initializers = {floats("w", {3, 2}, {1, 2, 3, 4, 5, 6})},
          .inputs = {value_info("x", {2, 3})},
          .outputs = {value_info("y", {2, 2})},
          .value_infos = {}};
}

// --- files ---

using Folder = quadrant::test::TemporaryFolder;

inline std::string contents_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// Reads a model from its bytes; it must be valid.
inline Graph read_bytes(const Folder& folder, const Fields& model) {
  auto graph = read_onnx(folder.write("model.onnx", model.bytes()));
  if (!graph) FAIL(to_string(graph.error()));
  return *std::move(graph);
}

/// Why a model is refused.
inline Error error_of(const Folder& folder, std::string_view bytes) {
  const auto graph = read_onnx(folder.write("model.onnx", bytes));
  if (graph) FAIL("the model was accepted");
  return graph.error();
}
inline Error error_of(const Folder& folder, const Fields& model) {
  return error_of(folder, model.bytes());
}

/// A graph as it was written, read back with its operators as they are in the file.
struct Written {
  OnnxWriteReport report;
  Graph graph;

  [[nodiscard]] std::string_view kind(std::string_view value) const {
    return graph.kind(graph.find_value(value).node);
  }
  [[nodiscard]] Value operand(std::string_view value, std::size_t index) const {
    return graph.ref(graph.find_value(value).node).operand(index);
  }
  [[nodiscard]] const Constant& constant(std::string_view value) const {
    return *graph.constant(graph.find_value(value).node);
  }
};

inline Written write_and_read(const Folder& folder, const Graph& graph,
                              const OnnxWriteOptions& options = {}) {
  auto report = write_onnx(graph, folder / "out.onnx", options);
  if (!report) FAIL(to_string(report.error()));
  auto read = read_onnx(folder / "out.onnx", {.raise_quantization = false});
  if (!read) FAIL(to_string(read.error()));
  return {*std::move(report), *std::move(read)};
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Collects what the library says.
class Notes final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override { messages.push_back(diagnostic.message); }
  void progress(std::string_view, std::uint64_t done, std::uint64_t total) override {
    last_done = done;
    last_total = total;
  }
  std::vector<std::string> messages;
  std::uint64_t last_done = 0;
  std::uint64_t last_total = 0;
};

template <class T>
std::vector<T> values_of(const Constant& constant) {
  const auto bytes = constant.read();
  if (!bytes) FAIL(to_string(bytes.error()));
  const auto values = bytes->template as<T>();
  return {values.begin(), values.end()};
}

}  // namespace onnx_test
