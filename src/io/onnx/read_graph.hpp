// GraphProto: to nodes of a Graph.
#pragma once

#include "io/onnx/local_functions.hpp"
#include "io/onnx/source.hpp"
#include "quadrant/io/onnx.hpp"

namespace quadrant::inline v0::onnx {

/// Fills `graph` from the GraphProtos at `parts` (protobuf takes several for one, in pieces). Value
/// types are those of inputs, constants and what follows from them; `value_info` is used where
/// nothing contradicts it. Calls of `functions` become what these are made of. Whether all
/// subgraphs were read, none carried.
bool read_graph(Source& source, const std::vector<Range>& parts, const LocalFunctions& functions,
                Graph& graph, Sink* sink);

}  // namespace quadrant::inline v0::onnx
