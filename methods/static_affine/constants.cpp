// Constants with real values: weights, biases, and what activations are added to or multiplied by.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

const Constant& contents(NodeRef node) { return *node.graph->constant(node.id); }

// The codes of a bias, of which there are few: not computed while the file is written, but now.
// They fit: `bias_type` saw to that.
Expected<Constant> wide_codes(const Constant& bias, const UniformType& type) {
  QUADRANT_TRY(const std::vector<double> values, read_reals(bias));
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
  std::vector<std::int32_t> codes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    // As double: float32 does not have all codes from 2^24 on, and rounds others twice.
    const auto scale = static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
    codes[i] = static_cast<std::int32_t>(std::nearbyint(values[i] / scale));
  }
  return Constant::from_values<std::int32_t>(ElementType::int32, bias.shape(), codes);
}

QUADRANT_QUANTIZER(ConstantMethod, StaticAffine, ops::Constant) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    if (!is_float(node.type().element)) return {State::Unquantized, "it is not float"};
    if (contents(node).element_count() == 0) return {State::Unquantized, "it is empty"};
    return {State::Quantizable};
  }

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    const Granularity& granularity = wanted.granularity;
    if (granularity.kind == Granularity::Kind::axis &&
        granularity.axis >= node.type().shape.rank()) {
      asks.refuse("it has no such axis");
    } else {
      asks.accept();
    }
  }

  [[nodiscard]] std::optional<StorageChange> storage(const AffineForm& constraint,
                                                     NodeRef node) const override {
    const Constant& constant = contents(node);
    // Whatever a bias takes is little, and should not decide on the products that it is added to.
    if (constraint.role == AffineForm::Role::bias) return std::nullopt;
    return StorageChange{constant.byte_size(),
                         stored_bytes(constant.shape(), constraint.granularity, constraint.storage,
                                      ElementType::float32, true)};
  }

  [[nodiscard]] Expected<void> examine(const AffineForm& /*selected*/, NodeRef node,
                                       DataContext& context) const override {
    QUADRANT_TRY(const ParameterScan scan,
                 scan_parameters(contents(node), Granularity::per_tensor(), ScaleRule{}));
    if (scan.non_finite) {
      context.refuse(fmt::format("element {} is {}, read as float32", scan.non_finite->index,
                                 scan.non_finite->value));
    }
    return {};
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto type = context.parameters(node.result());
    const bool is_wide = type->storage == ElementType::int32;
    QUADRANT_TRY(Constant codes,
                 is_wide ? wide_codes(contents(node), *type) : quantized(contents(node), type));
    return context.graph().set_constant(node.id, std::move(codes), type);
  }
};

}  // namespace

void register_constants(StaticAffine::Registration& methods) { methods.add<ConstantMethod>(); }

}  // namespace quadrant::inline v0::static_affine
