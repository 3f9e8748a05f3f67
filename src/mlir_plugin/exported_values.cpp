#include "mlir_plugin/exported_values.hpp"

#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Operation.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "mlir_plugin/types.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {

tl::unexpected<Error> refuse_export(std::string what) {
  return fail(ErrorCode::impossible, std::move(what));
}

Expected<TensorType> exported_type(mlir::Value value) {
  TensorType type = to_tensor_type(value.getType());
  if (!type.shape.is_static() || is_carried(type.element)) {
    std::string text;
    llvm::raw_string_ostream(text) << value.getType();
    return refuse_export(fmt::format("values of type {} are not exported", text));
  }
  return type;
}

Expected<Value> ExportedValues::read(mlir::Value value) {
  const auto stretched = stretched_.find(value);
  if (stretched != stretched_.end()) {
    QUADRANT_TRY(TensorType type, exported_type(value));
    const Axes extents(type.shape.known_extents().begin(), type.shape.known_extents().end());
    const Value whole =
        emit("onnx.Expand", {stretched->second, integers(extents)}, std::move(type));
    values_[value] = whole;
    stretched_.erase(stretched);
    return whole;
  }
  const auto found = values_.find(value);
  if (found != values_.end()) return found->second;
  mlir::Operation* const maker = value.getDefiningOp();
  return refuse_export(fmt::format("an operand that {} makes is not exported",
                                   maker == nullptr
                                       ? std::string_view("another block")
                                       : std::string_view(maker->getName().getStringRef())));
}

Expected<Value> ExportedValues::read_for_broadcast(mlir::Value value) {
  const auto stretched = stretched_.find(value);
  if (stretched != stretched_.end()) return stretched->second;
  return read(value);
}

Value ExportedValues::emit(std::string_view kind, std::vector<Value> operands, TensorType type,
                           Attributes attributes) {
  NodeSpec spec;
  spec.kind = kind;
  spec.operands = std::move(operands);
  spec.results.push_back({{}, std::move(type)});
  spec.attributes = std::move(attributes);
  return {graph.add(std::move(spec))};
}

Value ExportedValues::integers(const Axes& values) {
  return graph.add_constant(
      {}, Constant::from_values<std::int64_t>(
              ElementType::int64, Shape{static_cast<std::int64_t>(values.size())}, values));
}

Value ExportedValues::transposed(Value value, const Axes& perm) {
  if (perm.empty()) return value;
  TensorType type = graph.type(value);
  Axes extents;
  for (const std::int64_t axis : perm) extents.push_back(type.shape[axis].value());
  type.shape = Shape(std::move(extents));
  if (is_list(value)) return reshaped(value, type.shape);
  return emit_move(ops::Transpose::kind, {value}, std::move(type), Attributes{{"perm", perm}});
}

// A constant of which at most one extent is not 1: its elements stay in order wherever it goes.
bool ExportedValues::is_list(Value value) const {
  const Constant* const constant = graph.constant(value.node);
  if (constant == nullptr || graph.type(value).is_quantized()) return false;
  return std::ranges::count_if(constant->shape().known_extents(),
                               [](std::int64_t extent) { return extent != 1; }) <= 1;
}

Value ExportedValues::reshaped(Value value, const Shape& shape) {
  if (is_list(value)) {
    return graph.add_constant({}, graph.constant(value.node)->reshaped(shape));
  }
  TensorType type = graph.type(value);
  type.shape = shape;
  const Axes extents(shape.known_extents().begin(), shape.known_extents().end());
  return emit_move(ops::Reshape::kind, {value, integers(extents)}, std::move(type), {});
}

// Of codes, scales of an axis go where the axis goes; where they cannot stay together, these are
// plain integers from there on.
Value ExportedValues::emit_move(std::string_view kind, std::vector<Value> operands, TensorType type,
                                Attributes attributes) {
  const auto quantization = std::exchange(type.quantization, nullptr);
  const Value made = emit(kind, std::move(operands), std::move(type), std::move(attributes));
  const auto before = quantization ? GivenForm::of(quantization.uniform()) : std::nullopt;
  const auto moved = before ? moved_form(graph.ref(made.node), *before) : std::nullopt;
  if (moved) {
    TensorType typed = graph.type(made);
    typed.quantization = moved->type;
    graph.set_type(made, std::move(typed));
  }
  return made;
}

void ExportedValues::drop_unread_constants() {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.constant(node) == nullptr) continue;
    if (graph.uses(node).empty()) graph.erase(node);
  }
}

}  // namespace quadrant::inline v0::mlir_plugin
