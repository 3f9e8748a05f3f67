#include "adapters/openvino/plain_quantization.hpp"

#include <string>
#include <utility>
#include <vector>

#include "adapters/openvino/cast.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/opset.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0::openvino {
namespace {

constexpr std::int64_t opset_of_round = 11;  // and of a Clip whose bounds are operands

/// Scales or zero points.
Expected<std::vector<float>> read_floats(const Constant& constant) {
  if (!is_float(constant.element())) {
    QUADRANT_TRY(const std::vector<std::int64_t> integers,
                 read_integers(constant, constant.element_count()));
    return std::vector<float>(integers.begin(), integers.end());
  }
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  std::vector<float> floats(static_cast<std::size_t>(constant.element_count()));
  widen_to_float(constant.element(), contents.bytes(), floats);
  return floats;
}

/// Whoever read the node's result reads `value`, which gets its name.
void take_place(Graph& graph, NodeId node, Value value) {
  std::string name(graph.value_name({node}));
  graph.replace_uses({node}, value);
  graph.erase(node);
  graph.set_value_name(value, std::move(name));
}

class PlainQuantize {
 public:
  /// `node` is a quantize, and `can_be` said yes.
  PlainQuantize(Graph& graph, NodeId node)
      : graph_(graph),
        node_(node),
        name_(graph.value_name({node})),
        type_(*graph.type({node}).uniform()),
        real_(graph.type(graph.operands(node)[0])) {
    real_.element = ElementType::float32;
  }

  static bool can_be(const Graph& graph, NodeId node) {
    if (graph.kind(node) != ops::Quantize::kind) return false;
    const UniformType* type = graph.type({node}).uniform().get();
    const Value operand = graph.ref(node).operand(0);
    if (type == nullptr || !type->scales || operand.is_absent()) return false;
    if (!is_integer(type->storage) || bit_width(type->storage) > 16) return false;
    const Shape& shape = graph.type(operand).shape;
    switch (type->granularity.kind) {
      case Granularity::Kind::tensor:
        return type->scales.element_count() == 1 &&
               (!type->zero_points || type->zero_points.element_count() == 1);
      case Granularity::Kind::axis:
        return shape.is_ranked() && normalize_axis(type->granularity.axis, shape.rank());
      case Granularity::Kind::block:
        return false;
    }
    return false;
  }

  Expected<void> replace() {
    QUADRANT_TRY(const Value scales, parameters(type_.scales, "scale"));
    Value value = graph_.operands(node_)[0];
    if (graph_.type(value).element != ElementType::float32) value = add_cast(graph_, value, real_);
    value = add(ops::Div::kind, {value, scales});
    value = add(ops::Round::kind, {value});
    if (type_.zero_points) {
      QUADRANT_TRY(const Value zero_points, parameters(type_.zero_points, "zero_point"));
      value = add(ops::Add::kind, {value, zero_points});
    }
    value = add(ops::Clip::kind,
                {value, bound(type_.storage_min, "min"), bound(type_.storage_max, "max")});
    // A Cast to a quantized type would say that codes are computed from it.
    const TensorType codes = graph_.type({node_});
    value = add_cast(graph_, value, {codes.element, codes.shape, nullptr});
    take_place(graph_, node_, add_storage_cast(value, codes));
    return {};
  }

 private:
  Value add(std::string_view kind, std::vector<Value> operands) {
    return {graph_.add(
        {.kind = std::string(kind), .operands = std::move(operands), .results = {{name_, real_}}})};
  }

  Value add_storage_cast(Value codes, TensorType type) {
    return {graph_.add({.kind = std::string(ops::StorageCast::kind),
                        .operands = {codes},
                        .results = {{name_, std::move(type)}}})};
  }

  Value constant(Shape shape, std::span<const float> values, std::string_view role) {
    return graph_.add_constant(
        name_ + "_" + std::string(role),
        Constant::from_values(ElementType::float32, std::move(shape), values));
  }

  Value bound(std::int64_t value, std::string_view role) {
    const auto real = static_cast<float>(value);
    return constant(Shape::scalar(), {&real, 1}, role);
  }

  /// As float32, of a shape that broadcasts to that of the values.
  Expected<Value> parameters(const Constant& given, std::string_view role) {
    QUADRANT_TRY(const std::vector<float> values, read_floats(given));
    Shape shape = Shape::scalar();
    if (type_.granularity.kind == Granularity::Kind::axis) {
      const std::int64_t rank = real_.shape.rank();
      std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
      const std::int64_t axis = normalize_axis(type_.granularity.axis, rank).value_or(0);
      extents[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(values.size());
      shape = Shape(extents);
    }
    return constant(std::move(shape), values, role);
  }

  Graph& graph_;
  NodeId node_;
  std::string name_;
  UniformType type_;
  TensorType real_;  // of what is computed on the way
};

bool has_short_blocks(const Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  if (ref.kind() != ops::Dequantize::kind || ref.operand_constant(0) == nullptr) return false;
  const TensorType& codes = *ref.operand_type(0);
  if (!codes.uniform()) return false;
  const Granularity& granularity = codes.uniform()->granularity;
  if (granularity.kind != Granularity::Kind::block || granularity.block_size <= 0) return false;
  const auto axis = normalize_axis(granularity.axis, codes.shape.rank());
  return axis && codes.shape[*axis].value_or(0) % granularity.block_size != 0;
}

Expected<void> use_real_values(Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  QUADRANT_TRY(Constant reals,
               dequantized(*ref.operand_constant(0), ref.operand_type(0)->quantization));
  TensorType type = graph.type({node});
  Value value = graph.add_constant(std::string(graph.value_name({node})), std::move(reals));
  if (type.element != ElementType::float32) value = add_cast(graph, value, std::move(type));
  take_place(graph, node, value);
  return {};
}

}  // namespace

Expected<void> use_plain_quantization(Graph& graph) {
  const bool has_round = opset_version(graph) >= opset_of_round;
  const std::uint32_t end = graph.index_bound();  // of the nodes that are there now
  for (std::uint32_t index = 0; index < end; ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    if (has_round && PlainQuantize::can_be(graph, node)) {
      QUADRANT_CHECK(PlainQuantize(graph, node).replace());
    } else if (has_short_blocks(graph, node)) {
      QUADRANT_CHECK(use_real_values(graph, node));
    }
  }
  return {};
}

}  // namespace quadrant::inline v0::openvino
