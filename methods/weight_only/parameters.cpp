// Roots: constants with real values can be quantized along any axis. Graph inputs have no method
// and so stay float.
#include <fmt/format.h>

#include <memory>

#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/convert.hpp"
#include "quadrant/numerics/scales.hpp"
#include "weight_only/methods.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

const Constant& contents(NodeRef node) { return *node.graph->constant(node.id); }

QUADRANT_QUANTIZER(ParameterMethod, WeightOnly, ops::Constant) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    const TensorType& type = node.type();
    if (!is_float(type.element)) return {State::Unquantized, "it holds no real numbers"};
    if (type.shape.rank() == 0) return {State::Unquantized, "a scalar has no channels"};
    if (contents(node).element_count() == 0) return {State::Unquantized, "it is empty"};
    return {State::Quantizable};
  }

  void callback(const ChannelWise& wanted, NodeRef node, Asks& asks) const override {
    if (wanted.axis < node.type().shape.rank()) {
      asks.accept();
    } else {
      asks.refuse("it has no such axis");
    }
  }

  [[nodiscard]] std::optional<StorageChange> storage(const ChannelWise& constraint,
                                                     NodeRef node) const override {
    const Shape& shape = node.type().shape;
    const auto count = static_cast<std::uint64_t>(contents(node).element_count());
    const auto scales = static_cast<std::uint64_t>(shape[constraint.axis]);
    const auto code_bytes = static_cast<std::uint64_t>(byte_width(scheme().storage_type()));
    // A float32 scale and a zero point for each channel.
    return StorageChange{contents(node).byte_size(),
                         count * code_bytes + scales * (sizeof(float) + code_bytes)};
  }

  [[nodiscard]] Expected<void> examine(const ChannelWise& selected, NodeRef node,
                                       DataContext& context) const override {
    QUADRANT_TRY(ScaleScan scan,
                 scan_symmetric_scales(contents(node), Granularity::per_axis(selected.axis),
                                       scheme().storage_max()));
    if (scan.non_finite) {
      context.refuse(fmt::format("element {} is {}, read as float32", scan.non_finite->index,
                                 scan.non_finite->value));
    } else {
      context.keep(std::move(scan.scales));
    }
    return {};
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto& selected = context.selected<ChannelWise>(node.result());
    auto type = std::make_shared<UniformType>();
    type->storage = scheme().storage_type();
    type->expressed = node.type().element;
    type->granularity = Granularity::per_axis(selected.axis);
    type->storage_min = -scheme().storage_max();
    type->storage_max = scheme().storage_max();
    type->scales = context.prepared(node.id);
    QUADRANT_TRY(Constant codes, quantized(contents(node), type));
    return context.graph().set_constant(node.id, std::move(codes), std::move(type));
  }
};

}  // namespace

void register_parameters(WeightOnly::Registration& methods) { methods.add<ParameterMethod>(); }

}  // namespace quadrant::inline v0::weight_only
