#include "io/onnx/qoperators.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/parameters.hpp"
#include "io/onnx/raise.hpp"
#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/windows.hpp"
#include "ir/scales.hpp"
#include "numerics/clamp_bounds.hpp"
#include "quadrant/ir/operations.hpp"
#include "targets/kernels/onnxruntime.hpp"

namespace quadrant::inline v0::onnx {
namespace {

using target_kernels::onnxruntime::CodeOperator;
using target_kernels::onnxruntime::OperandOrder;

// QLinearConv and QLinearMatMul are there from 10 on, and from 12 on MaxPool and Clip know integers
// of 8 bits.
constexpr std::int64_t needed_opset = 13;

class QOperators {
 public:
  explicit QOperators(Graph& graph) : graph_(graph), parameters_(graph) {}

  std::int64_t run() {
    std::int64_t made = 0;
    const std::uint32_t bound = graph_.index_bound();
    for (std::uint32_t index = 0; index < bound; ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid()) continue;
      const CodeOperator* const found =
          target_kernels::onnxruntime::find_operator(graph_.kind(node));
      if (found == nullptr || found->made.empty() || !fits(graph_.ref(node), *found)) continue;
      if (turn(node, *found)) ++made;
    }
    return made;
  }

 private:
  [[nodiscard]] static std::size_t data_count(NodeRef node, const CodeOperator& to) {
    return to.rule.operands == 0 ? node.operands().size() : to.rule.operands;
  }

  [[nodiscard]] static bool is_plain(const CodeOperator& to) {
    return to.order == OperandOrder::plain || to.order == OperandOrder::clamp;
  }

  [[nodiscard]] bool fits(NodeRef node, const CodeOperator& to) const {
    if (graph_.result_count(node.id) != 1 || !node.type().is_quantized()) return false;
    const std::size_t count = data_count(node, to);
    if (node.operands().size() < count) return false;
    const Quantization& result = node.type().quantization;
    if (!is_whole_byte(result) || granularity_of(result).kind != Granularity::Kind::tensor) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const TensorType* const type = node.operand_type(i);
      if (type == nullptr || !is_whole_byte(type->quantization)) return false;
      if (!has_known_groups(node, i, granularity_of(type->quantization))) return false;
      if (is_plain(to) && !mean_the_same(type->quantization, result)) return false;
    }
    if (to.order == OperandOrder::clamp && !code_limits(node, result)) return false;
    if (is_plain(to)) return true;
    const auto dilations = node.attribute_or("dilations", std::vector<std::int64_t>{});
    const bool is_dilated = std::ranges::any_of(dilations, [](std::int64_t d) { return d != 1; });
    if (is_dilated && node.kind() != ops::Conv::kind) return false;
    return has_known_bias(node, to);
  }

  [[nodiscard]] static bool is_whole_byte(const Quantization& type) {
    if (!type) return false;
    const NumberFormat format = scaled_format(type).format;
    const bool has_sign = type.storage() == ElementType::int8;
    return is_uniform(format) && format.code == NumberCode(IntegerCode::of(8, has_sign)) &&
           format.expressed == ElementType::float32;
  }

  // One scale, or, of the weight of a product, one for each of its channels.
  [[nodiscard]] static bool has_known_groups(NodeRef node, std::size_t operand,
                                             const Granularity& groups) {
    if (groups.kind == Granularity::Kind::tensor) return true;
    const Product* const product = find_product(node);
    if (product == nullptr || operand != product->weight) return false;
    const Shape& shape = node.operand_type(operand)->shape;
    const bool is_of_matrix = node.kind() == ops::Conv::kind || shape.rank() == 2;
    return groups.kind == Granularity::Kind::axis && shape.is_ranked() && is_of_matrix &&
           product->channel(node, shape) == groups.axis;
  }

  [[nodiscard]] static bool has_known_bias(NodeRef node, const CodeOperator& to) {
    const bool may_have_bias = to.order == OperandOrder::result_before_bias ||
                               to.order == OperandOrder::bias_before_result;
    if (!may_have_bias || node.operand(2).is_absent()) return true;
    const TensorType& bias = *node.operand_type(2);
    return bias.is_quantized() && bias.element == ElementType::int32 &&
           scaled_format(bias.quantization).format.offset == Offset::none &&
           node.attribute_or("beta", 1.0) == 1 &&
           has_product_scales(bias.quantization, node.operand_type(0)->quantization,
                              node.operand_type(1)->quantization);
  }

  bool turn(NodeId id, const CodeOperator& to) {
    const NodeRef node = graph_.ref(id);
    NodeSpec spec{.kind = std::string(to.made),
                  .name = std::string(node.name()),
                  .results = {{std::string(graph_.value_name({id})), node.type()}},
                  .attributes = attributes(node, to)};
    if (is_plain(to)) return turn_plain(id, to, std::move(spec));
    const bool has_bias = node.operands().size() > 2 && !node.operand(2).is_absent();
    if (to.order == OperandOrder::result_first) add_parameters(spec.operands, node.result());
    for (std::size_t i = 0; i < data_count(node, to); ++i) {
      spec.operands.push_back(node.operand(i));
      add_parameters(spec.operands, node.operand(i));
    }
    if (to.order == OperandOrder::bias_before_result) {
      spec.operands.push_back(has_bias ? node.operand(2) : Value{});
    }
    if (to.order != OperandOrder::result_first) add_parameters(spec.operands, node.result());
    if (to.order == OperandOrder::result_before_bias && has_bias) {
      spec.operands.push_back(node.operand(2));
    }
    replace_in_place(graph_, id, std::move(spec));
    return true;
  }

  void add_parameters(std::vector<Value>& operands, Value codes) {
    const auto type = value_of(uniform_for("ONNX", graph_.type(codes).quantization));
    const std::string name(graph_.value_name(codes));
    operands.push_back(parameters_.scales(name, *type));
    operands.push_back(parameters_.zero_points(name, *type));
  }

  [[nodiscard]] Attributes attributes(NodeRef node, const CodeOperator& to) const {
    Attributes kept;
    for (const auto& [name, value] : graph_.attributes(node.id)) {
      // com.microsoft's pooling does not know dilations, QGemm no beta: both say nothing here.
      const bool is_gone = name == "beta" || to.order == OperandOrder::clamp ||
                           (name == "dilations" && node.kind() == ops::AveragePool::kind);
      if (!is_gone) kept.set(name, value);
    }
    return kept;
  }

  // On plain integers, between casts that change no bit.
  bool turn_plain(NodeId id, const CodeOperator& to, NodeSpec spec) {
    const NodeRef node = graph_.ref(id);
    TensorType codes = node.type();  // the graph is edited
    std::vector<Value> operands(node.operands().begin(), node.operands().end());
    for (std::size_t i = 0; i < data_count(node, to); ++i) {
      TensorType plain = graph_.type(operands[i]);
      plain.quantization = nullptr;
      operands[i] = add_op(graph_, std::string(ops::StorageCast::kind), {}, {operands[i]},
                           {std::string(graph_.value_name(operands[i])) + "_plain", plain});
    }
    if (to.order == OperandOrder::clamp) {
      const auto limits = code_limits(node, codes.quantization);
      if (!limits) return false;
      const std::string name(graph_.value_name({id}));
      const ElementType storage = codes.element;
      operands.resize(1);
      operands.push_back(parameters_.code(storage, limits->min, name + "_min"));
      operands.push_back(parameters_.code(storage, limits->max, name + "_max"));
    }
    spec.operands = std::move(operands);
    const std::string name = spec.results.front().name;
    spec.results.front().name = name + "_plain";
    spec.results.front().type.quantization = nullptr;
    const Value plain{graph_.add(std::move(spec))};
    replace_in_place(graph_, id,
                     {.kind = std::string(ops::StorageCast::kind),
                      .name = name + "_codes",
                      .operands = {plain},
                      .results = {{name, std::move(codes)}}});
    return true;
  }

  // The codes that stand for the bounds of a Relu or Clip, as far as there are codes.
  [[nodiscard]] static std::optional<IntegerRange> code_limits(NodeRef node,
                                                               const Quantization& type) {
    const auto bounds = clamp_bounds(node);
    const auto scales = read_scales(type);
    const auto zeros = read_zero_points(type);
    if (!bounds || !scales || !zeros || scales->front() < 0) return std::nullopt;
    const IntegerRange codes = integer_range(type.storage()).value_or(IntegerRange{});
    const auto code = [&](double value) {
      const double exact = std::nearbyint(value / static_cast<double>(scales->front())) +
                           static_cast<double>(zeros->front());
      return static_cast<std::int64_t>(
          std::clamp(exact, static_cast<double>(codes.min), static_cast<double>(codes.max)));
    };
    return IntegerRange{code(bounds->low), code(bounds->high)};
  }

  Graph& graph_;
  Parameters parameters_;
};

}  // namespace

UsedQOperators use_qoperators(Graph& graph) {
  if (opset_version(graph) < needed_opset) {
    std::string why_not = upgrade(graph, needed_opset);
    if (!why_not.empty()) return {0, std::move(why_not)};
    set_opset(graph, needed_opset);
  }
  return {QOperators(graph).run(), {}};
}

}  // namespace quadrant::inline v0::onnx
