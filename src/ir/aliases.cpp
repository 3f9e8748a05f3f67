#include "ir/aliases.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/packed_codes.hpp"
#include "ir/result_type.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

/// What stands for a node: a value for each of its results; absent ones are not read.
using Replacement = std::vector<Value>;

/// Adds the operations that stand for a node. The last one for a result takes its name.
class Spelling {
 public:
  Spelling(Graph& graph, NodeId node) : graph_(graph), node_(node) {}

  [[nodiscard]] NodeRef node() const { return graph_.ref(node_); }
  /// A copy: adding operations moves those there are.
  [[nodiscard]] Value operand(std::size_t i) const { return node().operand(i); }

  [[nodiscard]] bool reads(std::uint32_t result) const {
    const auto uses = graph_.uses(node_);
    return std::ranges::find(uses, result, &Use::result) != uses.end();
  }

  Value add(std::string_view kind, std::vector<Value> operands, Attributes attributes = {}) {
    const NodeId made = graph_.add({.kind = std::string(kind),
                                    .operands = std::move(operands),
                                    .results = {{std::string(graph_.value_name({node_})), {}}},
                                    .attributes = std::move(attributes)});
    made_.push_back(made);
    return {made};
  }

  Value number(float value) {
    const Value made =
        graph_.add_constant(std::string(graph_.value_name({node_})),
                            Constant::from_values(ElementType::float32, Shape::scalar(),
                                                  std::span<const float>(&value, 1)));
    made_.push_back(made.node);
    return made;
  }

  /// A constant of codes, with the name of the operand whose place it takes.
  Value codes(std::size_t operand, const UnpackedWeight& weight) {
    const std::string name(graph_.value_name(this->operand(operand)));
    const Value made = graph_.add_constant(name, weight.codes);
    graph_.set_constant(made.node, weight.codes, weight.quantization);
    made_.push_back(made.node);
    return made;
  }

  [[nodiscard]] const std::vector<NodeId>& made() const noexcept { return made_; }

 private:
  Graph& graph_;
  NodeId node_;
  std::vector<NodeId> made_;
};

/// The attributes of these names that the node has.
Attributes kept(const Spelling& spelling, std::initializer_list<std::string_view> names) {
  Attributes attributes;
  for (const std::string_view name : names) {
    const Attribute* found = spelling.node().graph->attribute(spelling.node().id, name);
    if (found) attributes.set(std::string(name), *found);
  }
  return attributes;
}

bool is_float32(const Spelling& spelling) {
  const TensorType* type = spelling.node().operand_type(0);
  return type != nullptr && !type->is_quantized() && type->element == ElementType::float32;
}

/// The first operand, and the second where there is one.
Value summed(Spelling& spelling) {
  const Value bias = spelling.operand(1);
  return bias.is_absent() ? spelling.operand(0)
                          : spelling.add(ops::Add::kind, {spelling.operand(0), bias});
}

Replacement gelu(Spelling& spelling) { return {spelling.add(ops::Gelu::kind, {summed(spelling)})}; }

Replacement fast_gelu(Spelling& spelling) {
  return {
      spelling.add(ops::Gelu::kind, {summed(spelling)}, {{"approximate", std::string("tanh")}})};
}

Replacement quick_gelu(Spelling& spelling) {
  if (!is_float32(spelling)) return {};
  const auto alpha = static_cast<float>(spelling.node().attribute_or<double>("alpha", 1.702));
  const Value data = spelling.operand(0);
  const Value scaled = spelling.add(ops::Multiply::kind, {data, spelling.number(alpha)});
  return {spelling.add(ops::Multiply::kind, {data, spelling.add(ops::Sigmoid::kind, {scaled})})};
}

Replacement swiglu(Spelling& spelling) {
  const Value gate =
      spelling.add(ops::Swish::kind, {spelling.operand(0)}, kept(spelling, {"alpha"}));
  return {spelling.add(ops::Multiply::kind, {gate, spelling.operand(1)})};
}

/// Of what an operation that ends in an activation computes before it. Empty for others than these.
std::optional<Value> activated(Spelling& spelling, Value before, std::vector<double> parameters) {
  const auto name = spelling.node().attribute_or<std::string>("activation", "");
  const auto parameter = [&](std::size_t i) { return i < parameters.size() ? parameters[i] : 0.0; };
  const bool has_none = parameters.empty();
  if (name.empty()) return before;
  if (name == "Relu") return spelling.add(ops::Relu::kind, {before});
  if (name == "Tanh") return spelling.add(ops::Tanh::kind, {before});
  if (name == "Sigmoid") return spelling.add(ops::Sigmoid::kind, {before});
  if (name == "LeakyRelu") {
    return spelling.add(ops::LeakyRelu::kind, {before},
                        has_none ? Attributes{} : Attributes{{"alpha", parameter(0)}});
  }
  if (name == "HardSigmoid" && parameters.size() >= 2) {
    return spelling.add(ops::HardSigmoid::kind, {before},
                        {{"alpha", parameter(0)}, {"beta", parameter(1)}});
  }
  if (name == "Clip" && parameters.size() >= 2 && is_float32(spelling)) {
    const Value lowest = spelling.number(static_cast<float>(parameter(0)));
    return spelling.add(ops::Clip::kind,
                        {before, lowest, spelling.number(static_cast<float>(parameter(1)))});
  }
  return std::nullopt;
}

Replacement fused_convolution(Spelling& spelling) {
  Value value = spelling.add(
      ops::Conv::kind, {spelling.operand(0), spelling.operand(1), spelling.operand(2)},
      kept(spelling, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  const Value summand = spelling.operand(3);
  if (!summand.is_absent()) value = spelling.add(ops::Add::kind, {value, summand});
  const auto made = activated(
      spelling, value, spelling.node().attribute_or<std::vector<double>>("activation_params", {}));
  return made ? Replacement{*made} : Replacement{};
}

Replacement fused_gemm(Spelling& spelling) {
  std::vector<double> parameters;
  for (const std::string_view name : {"activation_alpha", "activation_beta"}) {
    const Attribute* found = spelling.node().graph->attribute(spelling.node().id, name);
    if (found && std::holds_alternative<double>(*found)) {
      parameters.push_back(std::get<double>(*found));
    }
  }
  const Value value =
      spelling.add(ops::Gemm::kind, {spelling.operand(0), spelling.operand(1), spelling.operand(2)},
                   kept(spelling, {"alpha", "beta", "transA", "transB"}));
  const auto made = activated(spelling, value, std::move(parameters));
  return made ? Replacement{*made} : Replacement{};
}

/// The operand with its last two axes exchanged, if the node says so.
std::optional<Value> turned(Spelling& spelling, std::size_t operand, std::string_view attribute) {
  const Value value = spelling.operand(operand);
  if (spelling.node().attribute_or<std::int64_t>(attribute, 0) == 0) return value;
  const TensorType* type = spelling.node().operand_type(operand);
  if (!type || type->shape.rank() < 2) return std::nullopt;
  std::vector<std::int64_t> perm(static_cast<std::size_t>(type->shape.rank()));
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return spelling.add(ops::Transpose::kind, {value}, {{"perm", std::move(perm)}});
}

Replacement fused_matmul(Spelling& spelling) {
  const auto alpha = spelling.node().attribute_or<double>("alpha", 1.0);
  if (spelling.node().attribute_or<std::int64_t>("transBatchA", 0) != 0 ||
      spelling.node().attribute_or<std::int64_t>("transBatchB", 0) != 0 ||
      (alpha != 1.0 && !is_float32(spelling))) {
    return {};
  }
  const auto left = turned(spelling, 0, "transA");
  const auto right = turned(spelling, 1, "transB");
  if (!left || !right) return {};
  const Value product = spelling.add(ops::MatMul::kind, {*left, *right});
  if (alpha == 1.0) return {product};
  return {spelling.add(ops::Multiply::kind, {product, spelling.number(static_cast<float>(alpha))})};
}

/// x times the transpose of a weight whose codes lie packed.
Replacement product_of_codes(Spelling& spelling) {
  const auto weight = is_float32(spelling) ? unpacked_weight(spelling.node()) : std::nullopt;
  if (!weight) return {};
  const Value matrix = spelling.add(
      ops::Transpose::kind, {spelling.add(ops::Dequantize::kind, {spelling.codes(1, *weight)})},
      {{"perm", std::vector<std::int64_t>{1, 0}}});
  Value product = spelling.add(ops::MatMul::kind, {spelling.operand(0), matrix});
  const Value bias = spelling.operand(5);  // MatMulBnb4 has none
  if (!bias.is_absent()) product = spelling.add(ops::Add::kind, {product, bias});
  return {product};
}

/// Of real numbers, in a table whose codes lie in blocks. Where others read the same codes, these
/// do, too.
Replacement lookup_of_codes(Spelling& spelling) {
  const auto table = unpacked_table(spelling.node());
  if (!table) return {};
  const TensorType& held = *spelling.node().operand_type(0);
  const bool is_the_same =
      held.is_quantized() && mean_the_same(held.quantization, table->quantization);
  const Value codes = is_the_same ? spelling.operand(0) : spelling.codes(0, *table);
  const auto axis = spelling.node().attribute_or<std::int64_t>("gather_axis", 0);
  return {spelling.add(ops::Gather::kind,
                       {spelling.add(ops::Dequantize::kind, {codes}), spelling.operand(1)},
                       {{"axis", axis}})};
}

Replacement root_mean_square(Spelling& spelling) {
  if (spelling.reads(1)) return {};
  return {spelling.add(ops::RMSNormalization::kind, {spelling.operand(0), spelling.operand(1)},
                       kept(spelling, {"axis", "epsilon", "stash_type"}))};
}

/// Of the sum of two operands, and a bias that is the last one; the sum is a result, too.
template <bool is_centred>
Replacement skip_normalization(Spelling& spelling) {
  if (spelling.reads(1) || spelling.reads(2)) return {};
  Value sum = spelling.add(ops::Add::kind, {spelling.operand(0), spelling.operand(1)});
  const Value bias = spelling.operand(is_centred ? 4 : 3);
  if (!bias.is_absent()) sum = spelling.add(ops::Add::kind, {sum, bias});
  std::vector<Value> operands{sum, spelling.operand(2)};
  if (is_centred && !spelling.operand(3).is_absent()) operands.push_back(spelling.operand(3));
  const auto epsilon = spelling.node().attribute_or<double>("epsilon", 1e-12);
  return {spelling.add(is_centred ? ops::LayerNormalization::kind : ops::RMSNormalization::kind,
                       std::move(operands), {{"epsilon", epsilon}}),
          Value{}, Value{}, sum};
}

/// The same operands and attributes under ONNX's name.
Replacement renamed(Spelling& spelling) {
  const std::string name(spelling.node().kind().substr(spelling.node().kind().find("::") + 2));
  const auto operands = spelling.node().operands();
  Attributes attributes;
  for (const std::string_view key : {"mode", "upper", "batch_dims"}) {
    const Attribute* found = spelling.node().graph->attribute(spelling.node().id, key);
    if (found) attributes.set(std::string(key), *found);
  }
  return {spelling.add("onnx." + name, {operands.begin(), operands.end()}, std::move(attributes))};
}

struct Alias {
  std::string_view kind;
  Replacement (*spell)(Spelling& spelling);  ///< empty where the node is more than ONNX says
};

constexpr std::array aliases{
    Alias{ops::SimplifiedLayerNormalization::kind, root_mean_square},
    Alias{ops::SwiGLU::kind, swiglu},
    Alias{"onnx.com.microsoft::BiasGelu", gelu},
    Alias{"onnx.com.microsoft::FastGelu", fast_gelu},
    Alias{"onnx.com.microsoft::FusedConv", fused_convolution},
    Alias{"onnx.com.microsoft::FusedGemm", fused_gemm},
    Alias{"onnx.com.microsoft::FusedMatMul", fused_matmul},
    Alias{gather_block_quantized_kind, lookup_of_codes},
    Alias{"onnx.com.microsoft::GatherND", renamed},
    Alias{"onnx.com.microsoft::Gelu", gelu},
    Alias{matmul_bnb4_kind, product_of_codes},
    Alias{matmul_nbits_kind, product_of_codes},
    Alias{"onnx.com.microsoft::Pad", renamed},
    Alias{"onnx.com.microsoft::QuickGelu", quick_gelu},
    Alias{"onnx.com.microsoft::Range", renamed},
    Alias{"onnx.com.microsoft::SimplifiedLayerNormalization", root_mean_square},
    Alias{"onnx.com.microsoft::SkipLayerNormalization", skip_normalization<true>},
    Alias{"onnx.com.microsoft::SkipSimplifiedLayerNormalization", skip_normalization<false>},
    Alias{"onnx.com.microsoft::TransposeMatMul", fused_matmul},
    Alias{"onnx.com.microsoft::Trilu", renamed},
};

/// What follows of the results of operations that were added, in their order.
Expected<void> infer_added(Graph& graph, const std::vector<NodeId>& added) {
  for (const NodeId id : added) {
    QUADRANT_TRY(const std::vector<TensorType> inferred, detail::infer_results(graph.ref(id)));
    if (inferred.empty()) continue;
    QUADRANT_TRY(TensorType merged, detail::merge(graph.type({id}), inferred.front()));
    graph.set_type({id}, std::move(merged));
  }
  return {};
}

/// What the node's results and what takes their places say together.
Expected<void> merge_types(Graph& graph, NodeId node, const Replacement& made) {
  std::vector<std::pair<Value, TensorType>> types;
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    if (made[i].is_absent()) continue;
    QUADRANT_TRY(TensorType merged, detail::merge(graph.type({node, i}), graph.type(made[i])));
    types.emplace_back(made[i], std::move(merged));
  }
  for (auto& [value, type] : types) graph.set_type(value, std::move(type));
  return {};
}

/// Constants, and casts of these, that had one reader: packed codes and what belongs to them.
void erase_if_unread(Graph& graph, Value value) {
  while (!value.is_absent() && graph.contains(value.node) && graph.uses(value.node).empty()) {
    const bool is_cast = graph.kind(value.node) == ops::Cast::kind;
    if (!is_cast && graph.kind(value.node) != ops::Constant::kind) return;
    const Value before = is_cast ? graph.operands(value.node)[0] : Value{};
    graph.erase(value.node);
    value = before;
  }
}

/// Nothing of the node changes where it is an error: its operands may be what no rule of its own
/// refuses, but one of the operations that it stands for.
Expected<void> resolve(Graph& graph, NodeId node, const Alias& alias) {
  Spelling spelling(graph, node);
  Replacement made = alias.spell(spelling);
  made.resize(std::min<std::size_t>(made.size(), graph.result_count(node)));
  Expected<void> status;
  if (!made.empty()) status = infer_added(graph, spelling.made());
  if (status) status = merge_types(graph, node, made);
  if (!status || made.empty()) {
    for (const NodeId added : std::views::reverse(spelling.made())) graph.erase(added);
    if (!status) return fail(detail::at(graph.ref(node), std::move(status).error()));
    return {};
  }
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    names.emplace_back(graph.value_name({node, i}));
    if (!made[i].is_absent()) graph.replace_uses({node, i}, made[i]);
  }
  std::string node_name(graph.name(node));
  const std::vector<Value> read(graph.operands(node).begin(), graph.operands(node).end());
  graph.erase(node);
  for (const Value operand : read) erase_if_unread(graph, operand);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!made[i].is_absent()) graph.set_value_name(made[i], std::move(names[i]));
  }
  if (!node_name.empty()) graph.set_node_name(made.front().node, std::move(node_name));
  return {};
}

}  // namespace

Expected<void> resolve_aliases(Graph& graph) {
  const std::uint32_t end = graph.index_bound();
  for (std::uint32_t index = 0; index < end; ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.result_count(node) == 0) continue;
    const auto* const found = std::ranges::find(aliases, graph.kind(node), &Alias::kind);
    if (found != aliases.end()) QUADRANT_CHECK(resolve(graph, node, *found));
  }
  return {};
}

}  // namespace quadrant::inline v0
