#include "io/onnx/four_bits.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/onnx/dequantize.hpp"
#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/opset.hpp"
#include "ir/fold_moves.hpp"
#include "ir/ops/codes.hpp"
#include "ir/regions.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

bool is_plain_4_bits(const TensorType& type) {
  return !type.is_quantized() &&
         (type.element == ElementType::int4 || type.element == ElementType::uint4);
}

class FourBits {
 public:
  explicit FourBits(Graph& graph) : graph_(graph), opset_(opset_version(graph)) {}

  void run() {
    value_of(fold_moves_of_4_bits(graph_));
    for (const NodeId node : value_of(topological_order(graph_))) {
      if (lacks_kernels(node)) widen(node);
    }
  }

 private:
  /// Whether the operation, one of ONNX's own, would need a kernel of 4 bits that is not there.
  [[nodiscard]] bool lacks_kernels(NodeId node) const {
    const std::string_view kind = graph_.kind(node);
    const bool is_border = kind == ops::Constant::kind || kind == ops::Input::kind ||
                           kind == ops::Output::kind || kind == regions::input_kind ||
                           !regions::bodies_of(kind).empty();
    const bool reads_codes = kind == ops::Cast::kind || is_conversion(kind) ||
                             kind == ops::DequantizeLinear::kind ||
                             kind == ops::QuantizeLinear::kind;
    return !is_border && !reads_codes && find_operation(kind) != nullptr &&
           (kind != ops::Transpose::kind || opset_ < opset_blocked);
  }

  void widen(NodeId node) {
    const auto count = static_cast<std::uint32_t>(graph_.operands(node).size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const Value value = graph_.operands(node)[i];
      if (value.is_absent() || !is_plain_4_bits(graph_.type(value))) continue;
      const auto [known, is_new] = wide_.emplace(value, Value{});
      if (is_new) {
        known->second =
            cast(value, std::string(graph_.value_name(value)) + "_wide", wide(graph_.type(value)));
      }
      graph_.set_operand(node, i, known->second);
    }
    for (std::uint32_t result = 0; result < graph_.result_count(node); ++result) {
      const Value value{node, result};
      const TensorType narrow = graph_.type(value);
      if (!is_plain_4_bits(narrow)) continue;
      std::string name(graph_.value_name(value));
      graph_.set_type(value, wide(narrow));
      graph_.set_value_name(value, name + "_wide");
      const Value again = cast(value, name, narrow);
      graph_.replace_uses(value, again);
      graph_.set_operand(again.node, 0, value);
      graph_.set_value_name(again, std::move(name));
    }
  }

  [[nodiscard]] static TensorType wide(TensorType type) {
    type.element = type.element == ElementType::int4 ? ElementType::int8 : ElementType::uint8;
    return type;
  }

  Value cast(Value value, std::string name, TensorType type) {
    const std::int64_t to = element_type_number(type.element);
    return add_op(graph_, ops::Cast::kind, {}, {value}, {std::move(name), std::move(type)},
                  {{"to", to}});
  }

  Graph& graph_;
  std::int64_t opset_;
  std::unordered_map<Value, Value> wide_;
};

}  // namespace

void avoid_operations_on_4_bits(Graph& graph) { FourBits(graph).run(); }

}  // namespace quadrant::inline v0::onnx
