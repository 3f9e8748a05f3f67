// Graphs given as text, and what is in the files that they become.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "io/tflite/file.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/text.hpp"

namespace tflite_test {

using namespace quadrant;
namespace schema = quadrant::tflite::schema;

inline Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) FAIL(to_string(graph.error()));
  return *std::move(graph);
}

inline std::vector<std::byte> bytes_of(const Graph& graph, TfliteWriteReport* report = nullptr) {
  auto bytes = tflite_bytes(graph, {}, report);
  if (!bytes) FAIL(to_string(bytes.error()));
  return *std::move(bytes);
}

inline Graph graph_of(const std::vector<std::byte>& bytes) {
  auto graph = read_tflite(bytes);
  if (!graph) FAIL(to_string(graph.error()));
  return *std::move(graph);
}

/// A model as plain structs.
inline schema::ModelT model_of(const std::vector<std::byte>& bytes) {
  schema::ModelT model;
  schema::GetModel(bytes.data())->UnPackTo(&model);
  return model;
}

inline std::vector<std::byte> bytes_of(const schema::ModelT& model) {
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &model));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

inline schema::SubGraphT& main_of(schema::ModelT& model) { return *model.subgraphs.front(); }

/// The operators' names, in their order.
inline std::vector<std::string> operators_of(schema::ModelT& model) {
  std::vector<std::string> names;
  for (const auto& op : main_of(model).operators) {
    names.emplace_back(
        schema::EnumNameBuiltinOperator(model.operator_codes[op->opcode_index]->builtin_code));
  }
  return names;
}

inline std::vector<std::string> operators_of(std::string_view text) {
  schema::ModelT model = model_of(bytes_of(graph_of(text)));
  return operators_of(model);
}

/// The tensor of that name; there must be one.
inline schema::TensorT& tensor_of(schema::ModelT& model, std::string_view name) {
  for (const auto& tensor : main_of(model).tensors) {
    if (tensor->name == name) return *tensor;
  }
  FAIL("no tensor " << name);
  return *main_of(model).tensors.front();
}

inline Error error_of(const std::vector<std::byte>& bytes) {
  const auto graph = read_tflite(bytes);
  if (graph) FAIL("the model was accepted");
  return graph.error();
}

using Names = std::vector<std::string>;

}  // namespace tflite_test
