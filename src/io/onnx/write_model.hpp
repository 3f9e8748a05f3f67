// A graph as a ModelProto.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "io/onnx/rope.hpp"
#include "io/onnx/wire.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"

namespace quadrant::inline v0::onnx {

/// Initializers whose contents stand in a data file: their places in it, by node index.
struct DataFile {
  std::string name;
  std::unordered_map<std::uint32_t, Range> places;
};

/// Gives the values that are outputs the names of those outputs: in ONNX an output has no other
/// name. Where the value must keep its own, is several outputs or an input, an Identity goes in
/// between.
void settle_output_names(Graph& graph);

/// Puts constants that were made for this file, such as scales, into the bodies that read them: in
/// front of what it fuses, ONNX Runtime looks for them there alone.
void settle_constants(Graph& graph);

/// What a body yields is made in it, and no value twice: ONNX Runtime wants it so. An Identity in
/// the body copies what is not.
void settle_yields(Graph& graph);

/// The whole file. `directory` is where it will be: carried bytes that name data files are only
/// right in the folder they came from. Throws `impossible` for a graph that ONNX cannot say.
[[nodiscard]] Rope model_message(const Graph& graph, const std::string& directory,
                                 const DataFile& data, Sink* sink);

/// Writes a constant as an initializer, if it came as a Constant node. What was said of the node
/// besides is lost: fields of nodes are no fields of tensors.
void make_initializer(Graph& graph, NodeId node);

/// Whether a constant is written as an initializer, not as a Constant node.
[[nodiscard]] bool is_initializer(const Graph& graph, NodeId node);

}  // namespace quadrant::inline v0::onnx
