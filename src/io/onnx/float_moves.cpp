#include "io/onnx/float_moves.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/onnx/dequantize.hpp"
#include "io/onnx/edit.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/parameters.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::int64_t transposes_4_bits = 21;  ///< the opset whose Transpose may

class Moves {
 public:
  explicit Moves(Graph& graph) : graph_(graph) {}

  void run() {
    const std::vector<NodeId> order = value_of(topological_order(graph_));
    plans_.assign(graph_.index_bound(), Plan::none);
    if (opset_version(graph_) >= transposes_4_bits) find_transposes(order);
    for (std::size_t i = order.size(); i-- > 0;) {
      if (is_move(order[i])) plans_[order[i].index] = plan(order[i]);
    }
    for (const NodeId node : order) {
      // Dequantizes behind a move are in the order and may be gone.
      if (graph_.contains(node)) convert(node);
    }
  }

 private:
  enum class Plan : std::uint8_t {
    none,   ///< not a move of 4-bit values
    reals,  ///< move real values
    codes,  ///< move 8-bit codes
  };

  [[nodiscard]] static bool has_4_bits(const TensorType* type) {
    return type != nullptr && type->is_quantized() && is_packed(type->element);
  }

  /// Transposes of codes that no other operation has moved. ONNX Runtime has kernels for them, and
  /// does not load some models (opset 23, per axis) where they move real values instead.
  void find_transposes(const std::vector<NodeId>& order) {
    transposes_.assign(graph_.index_bound(), false);
    for (const NodeId node : order) {
      if (graph_.kind(node) != ops::Transpose::kind) continue;
      const NodeId producer = graph_.ref(node).operand(0).node;
      transposes_[node.index] =
          producer.is_valid() &&
          (graph_.kind(producer) == ops::Constant::kind ||
           (graph_.kind(producer) == ops::Transpose::kind && transposes_[producer.index]));
    }
  }

  [[nodiscard]] bool is_move(NodeId node) const {
    if (graph_.result_count(node) == 0 || is_conversion(graph_.kind(node))) return false;
    if (!transposes_.empty() && transposes_[node.index]) return false;
    const NodeRef ref = graph_.ref(node);
    const auto count = ref.operands().size();
    for (std::size_t i = 0; i < count; ++i) {
      if (has_4_bits(ref.operand_type(i))) return has_4_bits(&ref.type());
    }
    return false;
  }

  /// After everything behind the node has its plan.
  [[nodiscard]] Plan plan(NodeId node) const {
    const bool as_reals = std::ranges::all_of(graph_.uses(node), [&](const Use& use) {
      return !has_4_bits(&graph_.type({node, use.result})) ||
             graph_.kind(use.user) == ops::Dequantize::kind ||
             plans_[use.user.index] == Plan::reals;
    });
    return as_reals ? Plan::reals : Plan::codes;
  }

  void convert(NodeId node) {
    switch (plans_[node.index]) {
      case Plan::none:
        if (graph_.kind(node) == ops::StorageCast::kind) follow_operand(node);
        return;
      case Plan::reals:
        for_each_operand(node, [&](Value value) { return real(value); });
        for_each_result(node, [&](Value result) { drop_dequantizes(result); });
        return;
      case Plan::codes:
        for_each_operand(node, [&](Value value) { return widened(value); });
        for_each_result(node, [&](Value result) { widen_type(result); });
        return;
    }
  }

  template <class Replace>
  void for_each_operand(NodeId node, Replace replace) {
    const auto count = static_cast<std::uint32_t>(graph_.operands(node).size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const Value value = graph_.ref(node).operand(i);
      if (!value.is_absent() && graph_.type(value).is_quantized()) {
        graph_.set_operand(node, i, replace(value));
      }
    }
  }

  template <class Change>
  void for_each_result(NodeId node, Change change) {
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      if (has_4_bits(&graph_.type({node, i}))) change(Value{node, i});
    }
  }

  // --- real values ------------------------------------------------------------------------------

  /// What dequantizes the value already, or something new that does.
  Value real(Value value) {
    Value& made = reals_[value];
    if (!made.is_absent()) return made;
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result == value.result && graph_.kind(use.user) == ops::Dequantize::kind) {
        return made = {use.user};
      }
    }
    return made = add_op(
               graph_, std::string(ops::Dequantize::kind), {}, {value},
               {std::string(graph_.value_name(value)) + "_real", graph_.type(value).expressed()});
  }

  /// The result becomes real, and is what the dequantizes behind it were.
  void drop_dequantizes(Value result) {
    graph_.set_type(result, graph_.type(result).expressed());
    bool named = false;
    for (const Use& use :
         std::vector(graph_.uses(result.node).begin(), graph_.uses(result.node).end())) {
      if (use.result != result.result || graph_.kind(use.user) != ops::Dequantize::kind) continue;
      // The values' names may be known to subgraphs: a second one gets a node of its own.
      const Value dequantized{use.user};
      const TensorType type = graph_.type(dequantized);
      const Value same =
          named ? add_op(graph_, std::string(ops::Identity::kind), {}, {result}, {{}, type})
                : result;
      take_over(graph_, dequantized, same);
      named = true;
    }
  }

  // --- 8-bit codes ------------------------------------------------------------------------------

  [[nodiscard]] static ElementType wide(ElementType element) {
    return element == ElementType::int4 ? ElementType::int8 : ElementType::uint8;
  }

  /// Not by a Cast alone: before opset 21 nothing but a dequantize reads 4 bits.
  Value widened(Value value) {
    if (!has_4_bits(&graph_.type(value))) return value;
    Value& made = wide_[value];
    if (!made.is_absent()) return made;
    const std::string name(graph_.value_name(value));
    TensorType type = graph_.type(value);
    Value raw = value;
    for (const auto& meaning : {std::shared_ptr<const UniformType>(), plain(type.element)}) {
      type.quantization = meaning;
      raw = add_op(graph_, std::string(ops::StorageCast::kind), {}, {raw}, {name + "_raw", type});
    }
    type = type.expressed();
    const Value floats =
        add_op(graph_, std::string(ops::Dequantize::kind), {}, {raw}, {name + "_float", type});
    type.element = wide(graph_.type(value).element);
    type.quantization = widened(graph_.type(value).uniform());
    return made = add_op(graph_, "onnx.Cast", {}, {floats}, {name + "_wide", type},
                         {{"to", element_type_number(type.element)}});
  }

  /// Codes that mean themselves.
  std::shared_ptr<const UniformType> plain(ElementType storage) {
    auto& made = plain_[storage == ElementType::int4 ? 0 : 1];
    if (!made) {
      const IntegerRange range = integer_range(storage).value_or(IntegerRange{});
      made = std::make_shared<const UniformType>(UniformType{.storage = storage,
                                                             .granularity = {},
                                                             .storage_min = range.min,
                                                             .storage_max = range.max,
                                                             .scales = float_scalar(1),
                                                             .zero_points = {}});
    }
    return made;
  }

  std::shared_ptr<const UniformType> widened(const std::shared_ptr<const UniformType>& type) {
    auto& [made, kept_alive] = wide_types_[type.get()];
    if (!made) {
      UniformType changed = *type;
      changed.storage = wide(type->storage);
      if (type->zero_points) {
        changed.zero_points = with_element(type->zero_points, changed.storage);
      }
      made = std::make_shared<const UniformType>(std::move(changed));
      kept_alive = type;
    }
    return made;
  }

  void widen_type(Value value) {
    TensorType type = graph_.type(value);
    type.element = wide(type.element);
    if (type.quantization) type.quantization = widened(type.uniform());
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result == value.result && graph_.kind(use.user) == ops::Output::kind) {
        impossible("4-bit codes that were moved are an output of the graph",
                   {.node = std::string(label(graph_, value.node))});
      }
    }
    graph_.set_type(value, std::move(type));
  }

  /// A storage_cast of what has 8 bits now has 8 bits, too.
  void follow_operand(NodeId node) {
    const TensorType* operand = graph_.ref(node).operand_type(0);
    if (operand && is_packed(graph_.type({node}).element) && !is_packed(operand->element)) {
      widen_type({node});
    }
  }

  using Widened = std::pair<std::shared_ptr<const UniformType>, std::shared_ptr<const UniformType>>;

  Graph& graph_;
  std::vector<Plan> plans_;       // by node index
  std::vector<bool> transposes_;  ///< those that may move 4-bit codes; empty: none
  std::unordered_map<Value, Value> reals_;
  std::unordered_map<Value, Value> wide_;
  std::unordered_map<const UniformType*, Widened> wide_types_;
  std::array<std::shared_ptr<const UniformType>, 2> plain_;
};

}  // namespace

void avoid_moves_of_4_bits(Graph& graph) { Moves(graph).run(); }

}  // namespace quadrant::inline v0::onnx
