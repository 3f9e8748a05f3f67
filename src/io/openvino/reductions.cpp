// What looks at many elements for each result: sums and extremes along axes, softmax.
#include <array>

#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

bool raise_softmax(RaisedLayer& layer) {
  const bool is_log = layer.type() == "LogSoftmax";
  layer.make(is_log ? "onnx.LogSoftmax" : "onnx.Softmax", {layer.input(0)},
             {{"axis", layer.integer("axis", 1)}});
  return true;
}

constexpr std::array raised_reductions{
    RaiseRule{"LogSoftmax", raise_softmax},
    RaiseRule{"SoftMax", raise_softmax},
};

void lower_softmax(LoweredNode& node) {
  const bool is_new = node.opset() >= 13;
  const std::int64_t rank = node.ranked(0).rank();
  const auto axis = normalize_axis(node.attribute_or<std::int64_t>("axis", is_new ? -1 : 1), rank);
  if (!axis) invalid("an axis outside of the operand");
  // Before opset 13 all axes from this one on were one.
  if (!is_new && *axis + 1 < rank) impossible("several axes, as before opset 13");
  const bool is_log = node.node().kind() == "onnx.LogSoftmax";
  node.make({is_log ? "LogSoftmax" : "SoftMax", is_log ? "opset5" : "opset8"},
            std::array{node.operand(0)}, {{"axis", std::to_string(*axis)}});
}

constexpr std::array lowered_reductions{
    LowerRule{"onnx.LogSoftmax", lower_softmax},
    LowerRule{"onnx.Softmax", lower_softmax},
};

}  // namespace

Rules reductions_rules() noexcept { return {raised_reductions, lowered_reductions}; }

}  // namespace quadrant::inline v0::openvino_ir
