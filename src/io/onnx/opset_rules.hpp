// What becomes of each operator of the default domain between opset 7 to 12 and opset 13.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// What is known of result 0, where nothing else tells it.
enum class ResultRule : std::uint8_t {
  unknown,
  element,  ///< elements of operand 0's type
  like,     ///< elements and shape of operand 0
  int64,
  boolean,
  cast,  ///< elements of the type that attribute `to` names
};

/// Rewrites `node` for opset 13; throws a Failure that says why it cannot.
using Convert = void (*)(Graph& graph, NodeId node);

struct OpsetRule {
  std::string_view op_type;
  ResultRule result = ResultRule::element;
  Convert convert = nullptr;  ///< null: it means the same in all of opset 7 to 13
};

/// Null for an operator that is not known to have existed in all of opset 7 to 13, or whose meaning
/// changed in a way that cannot be said in opset 13.
[[nodiscard]] const OpsetRule* find_opset_rule(std::string_view op_type) noexcept;

// --- the operators that changed (opset_rewrites.cpp) ---
void convert_batch_normalization(Graph& graph, NodeId node);
void convert_clip(Graph& graph, NodeId node);
void convert_dropout(Graph& graph, NodeId node);
void convert_pad(Graph& graph, NodeId node);
void convert_axes(Graph& graph, NodeId node);  ///< ReduceSum, Squeeze, Unsqueeze
void convert_resize(Graph& graph, NodeId node);
void convert_scatter(Graph& graph, NodeId node);
void convert_slice(Graph& graph, NodeId node);
void convert_softmax(Graph& graph, NodeId node);  ///< and Hardmax, LogSoftmax
void convert_split(Graph& graph, NodeId node);
void convert_top_k(Graph& graph, NodeId node);
void convert_upsample(Graph& graph, NodeId node);

}  // namespace quadrant::inline v0::onnx
