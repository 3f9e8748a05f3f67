#include "io/onnx/packed_products.hpp"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/unused.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// A transpose of two axes; empty for every other operation.
std::optional<bool> swaps_axes(const NodeRef& node) {
  if (node.kind() == ops::Identity::kind) return false;
  if (node.kind() != ops::Transpose::kind) return std::nullopt;
  const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
  if (perm.size() != 2) return std::nullopt;
  return perm[0] == 1;
}

class PackingPass {
 public:
  PackingPass(Graph& graph, const PackedForm& form, Sink* sink)
      : graph_(graph), form_(form), sink_(sink) {}

  std::int64_t run() {
    std::vector<NodeId> products;
    std::vector<NodeId> weights;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid()) continue;
      const std::string_view kind = graph_.kind(node);
      if (kind == ops::MatMul::kind || kind == ops::Gemm::kind) products.push_back(node);
      if (kind == ops::Dequantize::kind && is_weight(node)) weights.push_back(node);
    }
    for (const NodeId product : products) {
      in_node(label(graph_, product), [&] { convert(product); });
    }
    for (const NodeId weight : weights) tell_what_stayed(weight);
    return converted_;
  }

 private:
  // --- weights ---

  /// Moves are looked through this far: long chains of them are no model that anybody has.
  static constexpr int longest_chain = 16;

  [[nodiscard]] bool is_weight(NodeId dequantize) const {
    const TensorType* type = graph_.ref(dequantize).operand_type(0);
    if (!type || !form_.is_for(type->quantization) || type->shape.rank() < 2) return false;
    NodeId node = graph_.ref(dequantize).operand(0).node;
    for (int i = 0; i < longest_chain && swaps_axes(graph_.ref(node)); ++i) {
      const Value operand = graph_.ref(node).operand(0);
      if (operand.is_absent()) return false;
      node = operand.node;
    }
    return graph_.kind(node) == ops::Constant::kind;
  }

  /// The weight that `value` is; empty where it is none. Throws an Obstacle where it is one of
  /// which the codes cannot be found.
  [[nodiscard]] std::optional<PackableWeight> find_weight(Value value, bool transposed) const {
    PackableWeight weight;
    weight.floats_transposed = transposed;
    bool dequantized = false;
    for (int i = 0; i < longest_chain && !value.is_absent(); ++i) {
      const NodeRef node = graph_.ref(value.node);
      if (dequantized && node.kind() == ops::Constant::kind) {
        weight.constant = node.id;
        return weight;
      }
      if (!dequantized && node.kind() == ops::Dequantize::kind) {
        const TensorType* codes = node.operand_type(0);
        if (codes == nullptr || !form_.is_for(codes->quantization)) break;
        weight.dequantize = node.id;
        dequantized = true;
      } else if (const auto swaps = swaps_axes(node)) {
        bool& side = dequantized ? weight.codes_transposed : weight.floats_transposed;
        side = side != *swaps;
      } else {
        break;
      }
      value = node.operand(0);
    }
    return std::nullopt;
  }

  // --- products ---

  void convert(NodeId product) {
    const NodeRef node = graph_.ref(product);
    const bool is_gemm = node.kind() == ops::Gemm::kind;
    if (const auto left = find_weight(node.operand(0), false)) {
      reasons_.try_emplace(left->dequantize,
                           fmt::format("it is the left operand of '{}'", label(graph_, product)));
    }
    const auto weight =
        find_weight(node.operand(1), is_gemm && node.attribute_or<std::int64_t>("transB", 0) != 0);
    if (!weight) return;
    try {
      check_product(node);
      const PackedOperands& operands = operands_of(*weight);
      const NodeId last = node.operand(1).node;  // of the weight's: a transpose, perhaps
      replace(product, operands);
      ++converted_;
      used_.insert(weight->dequantize);
      erase_unused(graph_, last);
    } catch (Obstacle& obstacle) {
      reasons_.try_emplace(weight->dequantize, std::move(obstacle.reason));
    }
  }

  static void check_product(const NodeRef& node) {
    if (node.operand(0).is_absent()) stay("its product has one operand");
    if (node.kind() != ops::Gemm::kind) return;
    const std::string_view name = label(*node.graph, node.id);
    const bool has_bias = !node.operand(2).is_absent();
    if (ops::Gemm{node}.trans_a()) stay(fmt::format("the Gemm '{}' transposes its input", name));
    if (node.attribute_or("alpha", 1.0) != 1.0 ||
        (has_bias && node.attribute_or("beta", 1.0) != 1.0)) {
      stay(fmt::format("the Gemm '{}' scales with alpha or beta", name));
    }
  }

  void replace(NodeId product, const PackedOperands& weight) {
    const NodeRef node = graph_.ref(product);
    std::vector<Value> operands{node.operand(0), weight.codes, weight.scales, weight.zero_points};
    const Value bias = node.kind() == ops::Gemm::kind ? node.operand(2) : Value{};
    const bool takes_bias =
        form_.has_bias() && !bias.is_absent() && graph_.type(bias).shape == Shape{weight.rows};
    if (takes_bias) {
      operands.resize(5);  // 4 is an index of groups, which this weight has not
      operands.push_back(bias);
    } else if (weight.zero_points.is_absent()) {
      operands.pop_back();
    }
    const TensorType type = graph_.type({product});
    const std::string name(graph_.value_name({product}));
    const std::string node_name(graph_.name(product));
    const Attributes kept = graph_.attributes(product);
    Value result = add_op(graph_, fmt::format("onnx.com.microsoft::{}", form_.op_type()), node_name,
                          std::move(operands), {name, type}, weight.attributes);
    if (!bias.is_absent() && !takes_bias) {
      result = add_op(graph_, kind_of({{}, "Add"}), {}, {result, bias}, {name, type});
    }
    take_over(graph_, {product}, result);
    if (const Attribute* info = kept.find(key::value_info)) {
      graph_.set_attribute(result.node, std::string(key::value_info), *info);
    }
  }

  /// Made once for all products that read the weight the same way, or refused once.
  const PackedOperands& operands_of(const PackableWeight& weight) {
    const auto key = std::pair(weight.dequantize, weight.floats_transposed);
    auto known = operands_.find(key);
    if (known == operands_.end()) {
      try {
        known = operands_.emplace(key, form_.pack(graph_, weight)).first;
      } catch (Obstacle& obstacle) {
        known = operands_.emplace(key, std::move(obstacle)).first;
      }
    }
    if (const auto* obstacle = std::get_if<Obstacle>(&known->second)) stay(obstacle->reason);
    return std::get<PackedOperands>(known->second);
  }

  // --- what is said ---

  void tell_what_stayed(NodeId dequantize) const {
    if (!sink_ || !graph_.contains(dequantize)) return;
    const std::string name(graph_.value_name({dequantize}));
    const auto reason = reasons_.find(dequantize);
    std::string why = reason != reasons_.end() ? reason->second : reader_of(dequantize);
    sink_->report({Severity::note,
                   used_.contains(dequantize)
                       ? fmt::format("the weight '{}' is stored twice, packed for {} and once "
                                     "more: {}",
                                     printable(name), form_.op_type(), why)
                       : fmt::format("the weight '{}' is not written for {}: {}", printable(name),
                                     form_.op_type(), why),
                   {.tensor = printable(name)}});
  }

  [[nodiscard]] std::string reader_of(NodeId dequantize) const {
    const auto uses = graph_.uses(dequantize);
    if (uses.empty()) return "no operation reads it";
    const NodeId user = uses.front().user;
    if (graph_.kind(user) == ops::Output::kind) return "it is an output of the graph";
    return printable(fmt::format("'{}' reads it, which is no product of a matrix: {}",
                                 label(graph_, user), graph_.kind(user)));
  }

  Graph& graph_;
  const PackedForm& form_;
  Sink* sink_;
  std::map<std::pair<NodeId, bool>, std::variant<PackedOperands, Obstacle>> operands_;
  std::unordered_map<NodeId, std::string> reasons_;  ///< the first one of each
  std::unordered_set<NodeId> used_;                  ///< weights that a packed product reads
  std::int64_t converted_ = 0;
};

}  // namespace

void stay(std::string reason) { throw Obstacle{std::move(reason)}; }

MatrixAxes axes_of(const Shape& codes, const PackableWeight& weight) {
  if (codes.rank() != 2 || !codes.is_static()) {
    stay(fmt::format("it has {} dimensions, not 2", codes.rank()));
  }
  const std::int64_t summed = weight.floats_transposed ? 1 : 0;
  const MatrixAxes axes{summed, codes[1 - summed].value(), codes[summed].value()};
  if (axes.rows == 0 || axes.columns == 0) stay("it is empty");
  return axes;
}

std::int64_t pack_products(Graph& graph, const PackedForm& form, Sink* sink) {
  return PackingPass(graph, form, sink).run();
}

}  // namespace quadrant::inline v0::onnx
