// Sums, largest elements and the like, along axes.
#include <fmt/format.h>

#include <array>

#include "case_file.hpp"
#include "operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

Result reduce(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  Value data = operation.input(0);
  const std::int64_t rank = graph.rank(data);
  Integers axes = axes_option(operation, "axes", rank, first_numbers(rank));
  bool keep = operation.options.boolean("keepDimensions", false);
  QUADRANT_CHECK(operation.options.status());
  if (axes.empty()) {
    // Each element by itself, which to ONNX would be all of them: an axis of one element is
    // reduced.
    QUADRANT_TRY(data, graph.add(ops::Unsqueeze::kind, {data, graph.integers({rank})}));
    axes = {rank};
    keep = false;
  }
  return only(graph.add(kind, {data, graph.integers(std::move(axes))}, {{"keepdims", flag(keep)}}));
}

Result arg_reduce(Operation& operation, std::string_view kind) {
  const std::int64_t axis = operation.options.required_integer("axis");
  const bool keep = operation.options.boolean("keepDimensions", false);
  const std::string name = operation.options.text("outputDataType", "int32");
  QUADRANT_CHECK(operation.options.status());
  const auto type = data_type_named(name);
  if (!type) return refuse(fmt::format("no type of WebNN's: '{}'", name));
  QUADRANT_TRY(const Value index, operation.graph.add(kind, operation.inputs,
                                                      {{"axis", axis}, {"keepdims", flag(keep)}}));
  return only(operation.graph.cast(index, *type));
}

Result cumulate(Operation& operation, std::string_view kind) {
  const std::int64_t axis = operation.options.required_integer("axis");
  const bool exclusive = operation.options.boolean("exclusive", false);
  const bool reversed = operation.options.boolean("reversed", false);
  QUADRANT_CHECK(operation.options.status());
  return only(operation.graph.add(kind, {operation.input(0), operation.graph.integer(axis)},
                                  {{"exclusive", flag(exclusive)}, {"reverse", flag(reversed)}}));
}

constexpr std::array reduction_table{
    OperationEntry{"argMax", arg_reduce, "onnx.ArgMax"},
    OperationEntry{"argMin", arg_reduce, "onnx.ArgMin"},
    OperationEntry{"cumulativeSum", cumulate, "onnx.CumSum"},
    OperationEntry{"reduceL1", reduce, "onnx.ReduceL1"},
    OperationEntry{"reduceL2", reduce, "onnx.ReduceL2"},
    OperationEntry{"reduceLogSum", reduce, "onnx.ReduceLogSum"},
    OperationEntry{"reduceLogSumExp", reduce, "onnx.ReduceLogSumExp"},
    OperationEntry{"reduceMax", reduce, "onnx.ReduceMax"},
    OperationEntry{"reduceMean", reduce, "onnx.ReduceMean"},
    OperationEntry{"reduceMin", reduce, "onnx.ReduceMin"},
    OperationEntry{"reduceProduct", reduce, "onnx.ReduceProd"},
    OperationEntry{"reduceSum", reduce, "onnx.ReduceSum"},
    OperationEntry{"reduceSumSquare", reduce, "onnx.ReduceSumSquare"},
};

}  // namespace

std::span<const OperationEntry> reduction_operations() noexcept { return reduction_table; }

}  // namespace quadrant::webnn
