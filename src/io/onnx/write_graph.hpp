// A graph as a GraphProto.
#pragma once

#include "io/onnx/attribute.hpp"
#include "io/onnx/write_model.hpp"

namespace quadrant::inline v0::onnx {

[[nodiscard]] Rope graph_message(const Graph& graph, const std::string& directory,
                                 const DataFile& data, Sink* sink);

/// What the file has the elements of a constant as.
[[nodiscard]] ElementType stored_element(const Graph& graph, NodeId node);

/// Whether an initializer is also listed among the graph's inputs, as it was when it was read.
[[nodiscard]] bool is_listed_input(const Graph& graph, NodeId node);

}  // namespace quadrant::inline v0::onnx
