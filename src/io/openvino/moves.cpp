// What moves elements without looking at them: shapes, axes, parts.
#include <array>

#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

bool raise_reshape(RaisedLayer& layer) {
  const bool copies = layer.flag("special_zero", false);
  const Value shape = layer.wide(layer.input(1), "shape");
  layer.make(ops::Reshape::kind, {layer.input(0), shape},
             {{"allowzero", std::int64_t{copies ? 0 : 1}}});
  return true;
}

void lower_reshape(LoweredNode& node) {
  node.make({"Reshape"}, std::array{node.operand(0), node.operand(1)},
            {{"special_zero", text_of(!ops::Reshape{node.node()}.allow_zero())}});
}

bool raise_transpose(RaisedLayer& layer) {
  auto perm = layer.constant_integers(1);
  if (!perm) return false;
  if (perm->empty()) {
    layer.make(ops::Transpose::kind, {layer.input(0)});
  } else {
    layer.make(ops::Transpose::kind, {layer.input(0)}, {{"perm", *std::move(perm)}});
  }
  return true;
}

void lower_transpose(LoweredNode& node) {
  const auto perm = ops::Transpose{node.node()}.perm();
  const Output order = node.integers("order", perm);  // empty: reversed, there as here
  node.make({"Transpose"}, std::array{node.operand(0), order});
}

bool raise_concat(RaisedLayer& layer) {
  const auto axis = layer.integer("axis");
  if (!axis) invalid("a Concat without an axis");
  std::vector<Value> operands;
  for (std::size_t i = 0; i < layer.input_count(); ++i) operands.push_back(layer.input(i));
  layer.make(ops::Concat::kind, std::move(operands), {{"axis", *axis}});
  return true;
}

void lower_concat(LoweredNode& node) {
  const auto axis = ops::Concat{node.node()}.axis();
  if (!axis) invalid("a concat along no axis");
  std::vector<Output> inputs;
  for (std::size_t i = 0; i < node.operand_count(); ++i) inputs.push_back(node.operand(i));
  node.make({"Concat"}, inputs, {{"axis", std::to_string(*axis)}});
}

constexpr std::array raised_moves{
    RaiseRule{"Concat", raise_concat},
    RaiseRule{"Reshape", raise_reshape},
    RaiseRule{"Transpose", raise_transpose},
};

constexpr std::array lowered_moves{
    LowerRule{ops::Concat::kind, lower_concat},
    LowerRule{ops::Reshape::kind, lower_reshape},
    LowerRule{ops::Transpose::kind, lower_transpose},
};

}  // namespace

Rules moves_rules() noexcept { return {raised_moves, lowered_moves}; }

}  // namespace quadrant::inline v0::openvino_ir
