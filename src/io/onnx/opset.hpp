// Versions of the default domain, and what they ask of the file.
#pragma once

#include <cstdint>
#include <string>

#include "io/onnx/source.hpp"
#include "ir/opset.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// What a graph that no file told otherwise is written as, besides `default_opset`.
inline constexpr std::int64_t default_ir_version = 8;

/// An OperatorSetIdProto: which version of a domain a file, or a function in it, is of.
struct OpsetImport {
  std::string domain;
  std::int64_t version = 0;  ///< 0 where none is stated

  friend bool operator==(const OpsetImport&, const OpsetImport&) = default;
};
[[nodiscard]] OpsetImport read_opset_import(Source& source, Range range);

/// Of the default domain; `opset_version` reads it.
void set_opset(Graph& graph, std::int64_t opset);

/// What an operator of the default domain needs of the opset.
struct OpsetNeed {
  std::int64_t opset = 0;
  NodeId node;  ///< that needs it; none where the opset is 0
};

/// The most that an operator needs which came after opset 13, or came to know a type of its
/// operands or results after that: other formats have such operators, and schemes may emit them.
[[nodiscard]] OpsetNeed largest_need(const Graph& graph);

/// The oldest file format version that may hold this opset.
[[nodiscard]] std::int64_t ir_version_for_opset(std::int64_t opset) noexcept;

/// Converts all operators of the default domain to opset `target`, 13 or 21, or says which one
/// cannot be and leaves the graph as it was. Empty when it is done, or the opset is not below.
///
/// Operators with subgraphs, and functions, are not converted: what is in them would have to be
/// too.
[[nodiscard]] std::string upgrade(Graph& graph, std::int64_t target);

}  // namespace quadrant::inline v0::onnx
