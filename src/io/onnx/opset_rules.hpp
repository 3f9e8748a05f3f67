// What becomes of each operator of the default domain from opset 7 to 13, and from there to 21.
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

/// Rewrites `node` as a later opset says it; throws a Failure that says why it cannot.
using Convert = void (*)(Graph& graph, NodeId node);

/// What an operator of an opset below `opset` needs from there on.
struct OpsetChange {
  std::int64_t opset = 0;  ///< 0: no change
  Convert convert = nullptr;
};

/// The opsets at which the conversion stops.
inline constexpr std::int64_t first_step = 13;
inline constexpr std::int64_t second_step = 21;

struct OpsetRule {
  std::string_view op_type;
  ResultRule result = ResultRule::element;
  OpsetChange first;   ///< up to opset 13, or the only one
  OpsetChange second;  ///< after opset 13
};

/// Null for an operator that opset 21 does not have, or that is not known.
[[nodiscard]] const OpsetRule* find_opset_rule(std::string_view op_type) noexcept;

// --- the operators that changed up to opset 13 (opset_rewrites.cpp) ---
void convert_batch_normalization(Graph& graph, NodeId node);
void convert_clip(Graph& graph, NodeId node);
void convert_dropout(Graph& graph, NodeId node);
void convert_pad(Graph& graph, NodeId node);
void convert_axes(Graph& graph, NodeId node);  ///< Squeeze, Unsqueeze, and what reduces
void convert_resize(Graph& graph, NodeId node);
void convert_scan(Graph& graph, NodeId node);
void convert_scatter(Graph& graph, NodeId node);
void convert_slice(Graph& graph, NodeId node);
void convert_softmax(Graph& graph, NodeId node);  ///< and Hardmax, LogSoftmax
void convert_split(Graph& graph, NodeId node);
void convert_top_k(Graph& graph, NodeId node);
void convert_upsample(Graph& graph, NodeId node);

// --- and from there to 21 (opset_rewrites_21.cpp) ---
void convert_average_pool(Graph& graph, NodeId node);
void convert_statistics(Graph& graph, NodeId node);  ///< BatchNormalization
void convert_dft(Graph& graph, NodeId node);
void convert_grid_sample(Graph& graph, NodeId node);
void convert_group_normalization(Graph& graph, NodeId node);
void convert_resize_operands(Graph& graph, NodeId node);
void convert_roi_align(Graph& graph, NodeId node);
void convert_split_count(Graph& graph, NodeId node);

}  // namespace quadrant::inline v0::onnx
