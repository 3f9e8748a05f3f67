#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/targets/runtime_profile.hpp"
#include "targets/data_flow.hpp"

namespace quadrant::inline v0 {
namespace {

using Found = std::optional<PairOrder>;  // empty: no two products meet in 16 bits

Found first_axis(NodeRef /*node*/, const Shape& /*weight*/) { return PairOrder{{0}}; }

Found last_axis(NodeRef /*node*/, const Shape& weight) { return PairOrder{{weight.rank() - 1}}; }

Found second_last_axis(NodeRef /*node*/, const Shape& weight) {
  return PairOrder{{std::max<std::int64_t>(weight.rank() - 2, 0)}};
}

Found gemm_axis(NodeRef node, const Shape& /*weight*/) {
  return PairOrder{{ops::Gemm{node}.trans_b() ? 1 : 0}};
}

std::int64_t group_count(NodeRef node) { return node.attribute_or<std::int64_t>("group", 1); }

// Of a weight [outputs, inputs of a group, taps...]: the inputs of one tap.
Found inputs_of_a_tap(NodeRef /*node*/, const Shape& weight) {
  return surely_equal(weight[1], 1) ? Found() : PairOrder{{1}};
}

// All taps, and in each its inputs. With an even number of those no pair reaches into another tap.
Found inputs_of_all_taps(NodeRef node, const Shape& weight) {
  const std::int64_t groups = group_count(node);
  const bool is_depthwise =
      surely_equal(weight[1], 1) && surely_equal(weight[0], groups) && groups > 1;
  if (is_depthwise) return std::nullopt;
  if (weight[1].value() % 2 == 0) return inputs_of_a_tap(node, weight);
  PairOrder order;
  for (std::int64_t axis = 2; axis < weight.rank(); ++axis) order.along.push_back(axis);
  order.along.push_back(1);
  return order;
}

// There are several kernels for groups, and some go through all taps.
Found inputs_of_a_group(NodeRef node, const Shape& weight) {
  return group_count(node) == 1 ? Found() : inputs_of_all_taps(node, weight);
}

// Of a weight [inputs, outputs of a group, taps...]. Who begins anew with each group was not seen.
Found transposed_inputs(NodeRef node, const Shape& weight) {
  const std::int64_t groups = group_count(node);
  const bool is_known = groups == 1 || (groups > 0 && weight[0].value() / groups % 2 == 0);
  if (surely_equal(weight[0], groups)) return std::nullopt;
  return is_known ? PairOrder{{0}} : PairOrder{};
}

struct Row {
  PairingRuntimes runtimes;
  std::string_view kind;
  std::uint32_t weight;
  std::int64_t least_rank;
  Found (*order)(NodeRef node, const Shape& weight);
};

constexpr PairingRuntimes both;
constexpr PairingRuntimes onnxruntime{.openvino = false};
constexpr PairingRuntimes openvino{.onnxruntime = false};

// Of moves: so that readers of a long chain do not walk it again and again.
constexpr int most_steps = 16;

// Types of a model, which come from its file, may contradict one another.
bool has_axes(std::int64_t rank, const PairOrder& order) {
  return std::ranges::all_of(order.along,
                             [&](std::int64_t axis) { return 0 <= axis && axis < rank; });
}

// Not recurrent layers: OpenVINO's add so, but the data of ours are real numbers.
constexpr std::array rows{
    Row{both, ops::MatMul::kind, 1, 1, second_last_axis},
    Row{both, ops::BatchMatMul::kind, 1, 1, second_last_axis},
    Row{both, ops::Gemm::kind, 1, 2, gemm_axis},
    Row{both, ops::Linear::kind, 1, 1, last_axis},
    Row{both, ops::Addmm::kind, 2, 2, first_axis},
    Row{onnxruntime, ops::Conv::kind, 1, 2, inputs_of_all_taps},
    Row{openvino, ops::Conv::kind, 1, 2, inputs_of_a_tap},
    Row{openvino, ops::Conv::kind, 1, 2, inputs_of_a_group},
    Row{openvino, ops::ConvTranspose::kind, 1, 2, transposed_inputs},
};

// A product of the graph's own: which kernel it becomes, and how that adds up, nobody knows.
bool is_foreign_product(NodeRef node) {
  if (find_operation(node.kind()) != nullptr) return false;
  const Operation* const own = find_operation(node);
  return own != nullptr && own->family == Family::product;
}

}  // namespace

std::vector<PairOrder> pair_orders(NodeRef node, std::uint32_t operand, const Shape& weight,
                                   PairingRuntimes runtimes) {
  std::vector<PairOrder> orders;
  if (is_foreign_product(node)) return {PairOrder{}};
  for (const Row& row : rows) {
    const bool is_asked = (runtimes.onnxruntime && row.runtimes.onnxruntime) ||
                          (runtimes.openvino && row.runtimes.openvino);
    if (!is_asked || row.kind != node.kind() || row.weight != operand || !weight.is_ranked() ||
        weight.rank() < row.least_rank) {
      continue;
    }
    const bool is_convolution = row.kind == ops::Conv::kind || row.kind == ops::ConvTranspose::kind;
    // How many inputs a convolution sums is not known without the extents.
    Found order = is_convolution && !weight.is_static() ? PairOrder{} : row.order(node, weight);
    if (order && std::ranges::find(orders, *order) == orders.end()) {
      orders.push_back(*std::move(order));
    }
  }
  return orders;
}

bool is_on_codes_in_onnxruntime(NodeRef node) {
  if (node.kind() != ops::Conv::kind) return true;
  const GraphView& graph = *node.graph;
  const auto becomes_codes = [&](NodeId id) {
    const auto uses = graph.uses(id);
    return !uses.empty() && std::ranges::all_of(uses, [&](const Use& use) {
      return makes_codes(graph.kind(use.user));
    });
  };
  const auto uses = graph.uses(node.id);
  const bool is_limited = uses.size() == 1 && is_fused(graph.kind(uses[0].user));
  return becomes_codes(is_limited ? uses[0].user : node.id);
}

Value code_source(const GraphView& graph, Value value) {
  for (int i = 0; i < most_steps && !value.is_absent(); ++i) {
    const NodeRef node{&graph, value.node};
    if (!makes_reals(node.kind()) && find_move(node) == nullptr) break;
    value = node.operand(0);
  }
  return value;
}

PairOrder order_at_constant(const GraphView& graph, Value value, PairOrder order) {
  for (int i = 0; !order.along.empty(); ++i) {
    if (value.is_absent() || i == most_steps) return {};
    if (const Constant* const constant = graph.constant(value.node)) {
      return has_axes(constant->shape().rank(), order) ? order : PairOrder();
    }
    const NodeRef node{&graph, value.node};
    const bool is_transpose = node.kind() == ops::Transpose::kind;
    const auto perm = is_transpose ? ops::Transpose{node}.perm() : std::vector<std::int64_t>();
    const bool stays = node.kind() == ops::Identity::kind || makes_reals(node.kind());
    if (is_transpose ? !has_axes(std::ssize(perm), order) : !stays) return {};
    for (std::int64_t& axis : order.along) {
      if (is_transpose) axis = perm[static_cast<std::size_t>(axis)];
    }
    value = node.operand(0);
  }
  return order;
}

}  // namespace quadrant::inline v0
