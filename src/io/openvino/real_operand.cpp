#include "io/openvino/real_operand.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

/// Whether the operand is a constant, or what is made of one.
bool is_fixed(NodeRef node, std::size_t index) {
  constexpr int most_steps = 8;
  Value value = node.operand(index);
  for (int i = 0; i < most_steps && !value.is_absent(); ++i) {
    if (node.graph->constant(value.node) != nullptr) return true;
    const NodeRef maker{node.graph, value.node};
    if (find_move(maker) == nullptr && maker.kind() != ops::Cast::kind) return false;
    value = maker.operand(0);
  }
  return false;
}

/// Made of constants alone: a weight that is stored in steps, which OpenVINO keeps small.
bool is_all_fixed(NodeRef node) {
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (node.operand(i).is_absent() || is_fixed(node, i)) continue;
    const NodeRef maker{node.graph, node.operand(i).node};
    if (maker.kind() != ops::Dequantize::kind || !is_fixed(maker, 0)) return false;
  }
  return true;
}

/// Numbers times a constant, as they come out of a dequantization.
bool is_scaled(NodeRef node) {
  constexpr std::array kinds{ops::Multiply::kind, ops::Div::kind, ops::BatchNormalization::kind};
  return std::ranges::find(kinds, node.kind()) != kinds.end() &&
         (is_fixed(node, 0) || is_fixed(node, 1));
}

/// Whether its last step is to scale by constants, or what may become one.
bool ends_scaled(NodeRef node) {
  constexpr std::array kinds{ops::GroupNormalization::kind, ops::InstanceNormalization::kind,
                             ops::LayerNormalization::kind};
  return is_scaled(node) || std::ranges::find(kinds, node.kind()) != kinds.end();
}

/// Of what makes codes, or scales them: not one number for all elements.
bool has_several_scales(NodeRef node) {
  const auto is_several = [](const TensorType& type) {
    return granularity_of(type.quantization).kind != Granularity::Kind::tensor;
  };
  if (is_several(node.graph->type(node.operand(0))) || is_several(node.type())) return true;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const bool is_data = !is_fixed(node, i) && (i == 0 || ends_scaled(node));
    if (is_data || node.operand(i).is_absent()) continue;
    if (node.graph->type(node.operand(i)).shape.element_count() != 1) return true;
  }
  return false;
}

/// Whether FakeQuantize, codes that are dequantized, or what looks like them, stand in front of the
/// value, with nothing between but what moves codes, or a scale and a summand behind them: all but
/// products.
bool may_be_codes(const GraphView& graph, Value value, Scales scales) {
  constexpr std::array sources{ops::FakeQuantize::kind, ops::Dequantize::kind, ops::Quantize::kind,
                               ops::DequantizeLinear::kind};
  std::vector<Value> open{value};
  std::unordered_set<std::uint32_t> seen;
  while (!open.empty()) {
    const NodeRef node{&graph, open.back().node};
    open.pop_back();
    if (!seen.insert(node.id.index).second) continue;
    // Of so many nobody knows.
    if (seen.size() > 1024) return true;
    if (is_all_fixed(node) || find_product(node) != nullptr) continue;
    const bool is_source = std::ranges::find(sources, node.kind()) != sources.end();
    const bool is_shift = scales == Scales::several_or_shifted &&
                          (node.kind() == ops::Add::kind || node.kind() == ops::Sub::kind) &&
                          (is_fixed(node, 0) || is_fixed(node, 1));
    const bool is_found =
        is_source ? node.operand_constant(0) == nullptr : is_shift || ends_scaled(node);
    if (is_found && (scales == Scales::any || has_several_scales(node))) return true;
    for (const Value operand : node.operands()) {
      const bool is_followed =
          !is_source && !operand.is_absent() && graph.constant(operand.node) == nullptr;
      if (is_followed && is_float(graph.type(operand).element)) open.push_back(operand);
    }
  }
  return false;
}

/// Whether operand 0 is made of codes, and all that reads the result makes such codes of it.
bool becomes_its_operands_codes(NodeRef node) {
  const NodeRef maker{node.graph, node.operand(0).node};
  if (maker.kind() != ops::Dequantize::kind) return false;
  const Quantization& codes = node.graph->type(maker.operand(0)).quantization;
  return codes && std::ranges::all_of(node.graph->uses(node.id), [&](const Use& use) {
           const NodeRef reader{node.graph, use.user};
           return reader.kind() == ops::Quantize::kind && reader.type().quantization == codes;
         });
}

/// One of the operations that FakeQuantize takes over from in front of it.
struct Step {
  Value data{};              ///< absent: it is none
  bool is_scale = false;     ///< or a shift
  bool has_several = false;  ///< numbers
  bool is_odd = false;       ///< they do not become bounds
};

bool has_negative(const Constant& constant) {
  const auto values = read_reals(constant);
  return !values || std::ranges::any_of(*values, [](double value) { return value < 0; });
}

Step step_of(NodeRef node) {
  if (node.kind() == ops::Relu::kind) return {.data = node.operand(0)};
  if (node.kind() == ops::Clip::kind || node.kind() == ops::Neg::kind) {
    return {.data = node.operand(0), .is_odd = true};
  }
  const bool shifts = node.kind() == ops::Add::kind || node.kind() == ops::Sub::kind;
  if (!shifts && !is_scaled(node)) return {};
  const std::size_t known = is_fixed(node, 1) ? 1 : 0;
  if (!is_fixed(node, known)) return {};
  const Constant* const constant = node.operand_constant(known);
  const bool may_negate = !shifts && (constant == nullptr || has_negative(*constant));
  return {.data = node.operand(1 - known),
          .is_scale = true,
          .has_several = node.operand_type(known)->shape.element_count() != 1,
          .is_odd = known == 0 || may_negate};
}

/// The steps between an operation and what it reads.
struct Steps {
  NodeRef first;  ///< no step
  std::size_t scale_count = 0;
  bool has_several = false;
  bool is_odd = false;
  bool begin_with_bias = false;
  bool are_alone = true;  ///< nobody else reads what is between
};

Steps steps_in_front(NodeRef node) {
  constexpr int most = 16;  // so that a chain is not gone through by each of many that read it
  Steps steps{{node.graph, node.operand(0).node}};
  for (int i = 0; i < most; ++i) {
    steps.are_alone &= node.graph->uses(steps.first.id).size() == 1;
    const Step step = step_of(steps.first);
    if (step.data.is_absent()) break;
    steps.scale_count += step.is_scale ? 1 : 0;
    steps.has_several |= step.has_several;
    steps.is_odd |= step.is_odd;
    steps.begin_with_bias = steps.first.kind() == ops::Add::kind && step.has_several;
    steps.first = {node.graph, step.data.node};
  }
  return steps;
}

/// Whether columns have scales of their own.
bool has_scaled_columns(NodeRef product, const Product& row) {
  const NodeRef weight{product.graph, product.operand(row.weight).node};
  if (weight.kind() == ops::Dequantize::kind) return has_several_scales(weight);
  return product.operand_constant(row.weight) == nullptr;
}

bool has_list_added(NodeRef product, const Product& row) {
  const TensorType* const bias = product.operand_type(row.bias);
  return bias != nullptr && bias->shape.element_count() != 1 &&
         product.attribute_or("alpha", 1.0) == 1;
}

/// Whether the product of two known matrices' extents is one of those that become one loop with
/// others, and its scales the FakeQuantize's: wherever no more than a bias is added to it.
bool loses_its_scales(const Steps& steps, const Product& row) {
  const Shape& shape = steps.first.type().shape;
  if (is_convolution(row) || !shape.is_static() || shape.rank() != 2) return false;
  const bool has_bias = has_list_added(steps.first, row);
  const std::size_t most = has_bias ? 0 : 1;
  const bool is_biased = has_bias || steps.begin_with_bias;
  return has_scaled_columns(steps.first, row) && (!is_biased || steps.scale_count != most);
}

}  // namespace

Output kept_apart(LoweredNode& node, Output output) {
  const TensorType type = node.type(output);
  const Output lowest =
      node.number("lowest", type.element, -std::numeric_limits<double>::infinity());
  return node.step({"Maximum"}, std::array{output, lowest}, {{"auto_broadcast", "numpy"}}, type,
                   "in_reals");
}

Output real_operand(LoweredNode& node, std::size_t index, Scales scales) {
  const NodeRef& made = node.node();
  const bool is_real = is_float(node.type(index).element) && node.is_among_codes();
  return is_real && may_be_codes(*made.graph, made.operand(index), scales)
             ? kept_apart(node, node.operand(index))
             : node.operand(index);
}

void make_real(LoweredNode& node, const OpName& op, std::span<const Output> inputs,
               const Data& data) {
  const bool is_real = is_float(node.result_type().element) && node.is_among_codes();
  if (!is_real || becomes_its_operands_codes(node.node())) {
    node.make(op, inputs, data);
    return;
  }
  node.finish(kept_apart(node, node.step(op, inputs, data, node.result_type(), "extreme")));
}

Output operand_of_one_scale(LoweredNode& node, bool is_limited) {
  const Steps steps = steps_in_front(node.node());
  const Product* const product = find_product(steps.first);
  const bool is_joined = product != nullptr && steps.are_alone
                             ? loses_its_scales(steps, *product)
                             : steps.has_several && (steps.is_odd || is_limited);
  return is_joined ? kept_apart(node, node.operand(0)) : node.operand(0);
}

}  // namespace quadrant::inline v0::openvino_ir
