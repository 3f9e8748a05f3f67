// What looks elements up by indices that are computed.
#include <array>

#include "operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

/// ONNX has indices of two types; WebNN has more.
Expected<std::vector<Value>> with_plain_indices(Operation& operation) {
  std::vector<Value> operands = operation.inputs;
  const ElementType element = operation.graph.element(operands[1]);
  if (element == ElementType::int32 || element == ElementType::int64) return operands;
  if (!is_integer(element)) return refuse("indices that are no integers");
  QUADRANT_TRY(operands[1], operation.graph.cast(operands[1], ElementType::int64));
  return operands;
}

Result along_axis(Operation& operation, std::string_view kind) {
  QUADRANT_TRY(std::vector<Value> operands, with_plain_indices(operation));
  return only(operation.graph.add(kind, std::move(operands),
                                  {{"axis", operation.options.integer("axis", 0)}}));
}

Result by_tuples(Operation& operation, std::string_view kind) {
  QUADRANT_TRY(std::vector<Value> operands, with_plain_indices(operation));
  return only(operation.graph.add(kind, std::move(operands)));
}

constexpr std::array indexing_table{
    OperationEntry{"gather", along_axis, ops::Gather::kind, 2, 2},
    OperationEntry{"gatherElements", along_axis, "onnx.GatherElements", 2, 2},
    OperationEntry{"gatherND", by_tuples, "onnx.GatherND", 2, 2},
    OperationEntry{"scatterElements", along_axis, "onnx.ScatterElements", 3, 3},
    OperationEntry{"scatterND", by_tuples, "onnx.ScatterND", 3, 3},
};

}  // namespace

std::span<const OperationEntry> indexing_operations() noexcept { return indexing_table; }

}  // namespace quadrant::webnn
