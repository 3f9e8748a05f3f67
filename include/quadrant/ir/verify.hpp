// Checks that a graph keeps the rules of the IR.
#pragma once

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/scaled_format.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// No cycles; operands exist, and `uses` lists each once; value names unique and not empty; every
/// known operation has the operands, attributes and types that its view in `ops.hpp` promises;
/// every quantized type keeps its rules, and its storage type is the tensor's element type; where
/// the view has Capabilities, it says what the IR says (`check_view`), and groups of one type have
/// one. The error names the node, and the tensor when it is about a type. Linear in the size of the
/// graph.
[[nodiscard]] Expected<void> verify(const GraphView& graph);

/// The rules of one node alone: all but edges, names and cycles. Besides, an operator of ONNX's own
/// has as many operands and results as one of its versions allows; graphs that were read from ONNX
/// files, which are carried as they are, may hold others.
[[nodiscard]] Expected<void> verify(NodeRef node);

/// The rules of one quantized type for tensors of shape `shape`: codes are integers of at most 32
/// bits, in a range of more than one inside the storage type's; they express a float type; the axis
/// is inside the rank, blocks are not empty; scales are float32, float16 or float64, of
/// `parameter_shape`, finite and not zero; zero points are of the storage type, as many, and inside
/// the range. Values that are deferred are not looked at.
[[nodiscard]] Expected<void> verify(const UniformType& type, const Shape& shape);

/// The same of a format that is not uniform: besides `verify(NumberFormat)`, each of its parts is
/// there, of its type, and of its shape where that of the tensor is known; numbers are such as
/// their level holds; codes have 16 bits at most. In a graph, only constants have such types, and
/// only `dequantize` reads them.
[[nodiscard]] Expected<void> verify(const ScaledFormat& format, const Shape& shape);

}  // namespace quadrant::inline v0
