// Small edits that lowering and conversion share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Adds an operator with one result.
Value add_op(Graph& graph, std::string_view kind, std::string node_name,
             std::vector<Value> operands, ResultSpec result, Attributes attributes = {});

/// Adds a constant of scales and returns them as float32, which is what operators read: scales that
/// are stored as float16 get a Cast behind.
Value add_scales(Graph& graph, std::string name, Constant scales);

/// Every use of `from` becomes one of `to`, which also gets its name; the node of `from`, which has
/// no other result, goes.
void take_over(Graph& graph, Value from, Value to);

/// Whether a subgraph of the user refers to the value by its name.
[[nodiscard]] bool is_capture(const Graph& graph, const Use& use);

[[nodiscard]] Constant int64_constant(std::span<const std::int64_t> values);  ///< one-dimensional
[[nodiscard]] Constant int64_scalar(std::int64_t value);
[[nodiscard]] Constant float_scalar(float value);

}  // namespace quadrant::inline v0::onnx
