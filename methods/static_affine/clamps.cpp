// Relu, Clip, and Min with a constant. What limits the range of a value that nobody else reads
// limits its codes: they share their parameters, found from the limited values, and the codes' own
// range does the work.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/ops/elementwise.hpp"
#include "ir/scales.hpp"
#include "numerics/clamp_bounds.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "static_affine/activations.hpp"
#include "static_affine/limits.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using FindBounds = std::optional<ClampBounds> (*)(NodeRef node);

// Of Min, with a constant that is one bound, or one for each channel.
std::optional<ClampBounds> min_bounds(NodeRef node) {
  const Constant* const bounds = node.operand_constant(1);
  if (bounds == nullptr || node.operands().size() != 2 || !is_float(bounds->element())) {
    return std::nullopt;
  }
  const auto values = read_reals(*bounds);
  if (!values || values->empty()) return std::nullopt;
  return ClampBounds{-infinity, *std::ranges::min_element(*values)};
}

// Whether no code stands for a value that is beyond the bounds by half a step or more.
Expected<bool> keeps(const UniformType& type, const ClampBounds& bounds) {
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
  QUADRANT_TRY(const std::vector<std::int64_t> zeros, read_zero_points(type));
  const double scale = std::abs(static_cast<double>(scales.front()));
  const double lowest = scale * static_cast<double>(type.storage_min - zeros.front());
  const double highest = scale * static_cast<double>(type.storage_max - zeros.front());
  return lowest > bounds.low - scale / 2 && highest < bounds.high + scale / 2;
}

QUADRANT_PARAMETERIZED(ClampMethod, StaticAffine, FindBounds,
                       requires_parents(AnyState, variadic(or_absent(AnyState)))) {
  using ClampMethodBase::ClampMethodBase;

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (makes_activation(scheme(), node, wanted, asks)) asks.compute({{0, wanted}});
  }

  void tie(NodeRef node, ParameterRules& rules) const override {
    if (is_only_clamp(node)) rules.share(Slot::result(), Slot::operand(0));
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto type = context.parameters(node.result());
    const auto bounds = parameters()(node);
    // Codes of the same parameters have no values beyond the limits, whatever is in front by now.
    const bool shares = context.quantization(node.operand(0)) == type;
    // Whoever calls the model knows its inputs by name. And there are runtimes that pass over
    // conversions to 16 bits, which would pass over the limit, too.
    const bool can_go =
        bit_width(type->storage) <= 8 && node.graph->kind(node.operand(0).node) != ops::Input::kind;
    if (is_clamp(node) && shares && can_go && bounds) {
      QUADRANT_TRY(const bool is_done, keeps(*type, *bounds));
      if (is_done) return context.take_place(node.result(), node.operand(0), "_limited");
    }
    return context.set_quantized(node.result(), type);
  }
};

}  // namespace

void register_clamps(StaticAffine::Registration& methods) {
  methods.add_parameterized<ClampMethod, ops::Relu>(clamp_bounds);
  methods.add_parameterized<ClampMethod, ops::Clip>(clamp_bounds);
  methods.add_parameterized<ClampMethod, ops::Min>(min_bounds);
}

}  // namespace quadrant::inline v0::static_affine
