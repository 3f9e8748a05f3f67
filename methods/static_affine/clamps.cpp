// Relu, Clip, and Min with a constant. What limits the range of a value that nobody else reads
// limits its codes: they share their parameters, found from the limited values, and the codes' own
// range does the work.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/scales.hpp"
#include "quadrant/numerics/reals.hpp"
#include "static_affine/activations.hpp"
#include "static_affine/limits.hpp"
#include "static_affine/methods.hpp"
#include "static_affine/onnx_op.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

using FindLimits = std::optional<Limits> (*)(NodeRef node);

std::optional<Limits> relu_limits(NodeRef /*node*/) { return Limits{.low = 0}; }

// Operand `index`, or the attribute that it was before opset 11; empty where it is computed.
std::optional<double> limit(NodeRef node, std::uint32_t index, std::string_view attribute,
                            double fallback) {
  if (node.operand(index).is_absent()) return node.attribute_or(attribute, fallback);
  const Constant* const constant = node.operand_constant(index);
  if (constant == nullptr || constant->element_count() != 1 || !is_float(constant->element())) {
    return std::nullopt;
  }
  const auto values = read_reals(*constant);
  return values ? std::optional(values->front()) : std::nullopt;
}

std::optional<Limits> clip_limits(NodeRef node) {
  const Limits none;
  const auto low = limit(node, 1, "min", none.low);
  const auto high = limit(node, 2, "max", none.high);
  return low && high ? std::optional(Limits{*low, *high}) : std::nullopt;
}

// Of Min, with a constant that is one bound, or one for each channel.
std::optional<Limits> min_limits(NodeRef node) {
  const Constant* const bounds = node.operand_constant(1);
  if (bounds == nullptr || node.operands().size() != 2 || !is_float(bounds->element())) {
    return std::nullopt;
  }
  const auto values = read_reals(*bounds);
  if (!values || values->empty()) return std::nullopt;
  return Limits{.high = *std::ranges::min_element(*values)};
}

// Whether no code stands for a value that is beyond the limits by half a step or more.
Expected<bool> keeps(const UniformType& type, const Limits& limits) {
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
  std::int64_t zero = 0;
  if (type.zero_points) {
    QUADRANT_TRY(const auto zero_points, read_integers(type.zero_points));
    zero = zero_points.front();
  }
  const double scale = std::abs(static_cast<double>(scales.front()));
  const double lowest = scale * static_cast<double>(type.storage_min - zero);
  const double highest = scale * static_cast<double>(type.storage_max - zero);
  return lowest > limits.low - scale / 2 && highest < limits.high + scale / 2;
}

QUADRANT_PARAMETERIZED(ClampMethod, StaticAffine, FindLimits,
                       requires_parents(AnyState, variadic(optional(AnyState)))) {
  using ClampMethodBase::ClampMethodBase;

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (makes_activation(scheme(), node, wanted, asks)) asks.compute({{0, wanted}});
  }

  void tie(NodeRef node, ParameterRules& rules) const override {
    if (is_only_clamp(node)) rules.share(Slot::result(), Slot::operand(0));
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto type = context.parameters(node.result());
    const auto limits = parameters()(node);
    // Codes of the same parameters have no values beyond the limits, whatever is in front by now.
    const bool shares = context.quantization(node.operand(0)) == type;
    // Whoever calls the model knows its inputs by name. And there are runtimes that pass over
    // conversions to 16 bits, which would pass over the limit, too.
    const bool can_go =
        bit_width(type->storage) <= 8 && node.graph->kind(node.operand(0).node) != ops::Input::kind;
    if (is_clamp(node) && shares && can_go && limits) {
      QUADRANT_TRY(const bool is_done, keeps(*type, *limits));
      if (is_done) return context.take_place(node.result(), node.operand(0), "_limited");
    }
    return context.set_quantized(node.result(), type);
  }
};

}  // namespace

void register_clamps(StaticAffine::Registration& methods) {
  methods.add_parameterized<ClampMethod, OnnxOp<"onnx.Relu">>(relu_limits);
  methods.add_parameterized<ClampMethod, OnnxOp<"onnx.Clip">>(clip_limits);
  methods.add_parameterized<ClampMethod, OnnxOp<"onnx.Min">>(min_limits);
}

}  // namespace quadrant::inline v0::static_affine
