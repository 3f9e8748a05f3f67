// Operations that move elements without changing them: the codes move alike, and the scales follow
// their axis.
#include <memory>

#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/axis_map.hpp"
#include "weight_only/methods.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

struct Transparency {
  SourceAxis source;
};

QUADRANT_PARAMETERIZED(TransparentMethod, WeightOnly, Transparency,
                       requires_parents(AnyQuantizable, optional(AnyState))) {
  using TransparentMethodBase::TransparentMethodBase;

  void callback(const ChannelWise& wanted, NodeRef node, Asks& asks) const override {
    if (const auto axis = parameters().source(node, wanted.axis)) {
      asks.alternative({{0, ChannelWise{*axis}}});
    } else {
      asks.refuse("the channel axis does not come from one axis of the operand");
    }
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    auto type = std::make_shared<UniformType>(*context.quantization(node.operand(0)));
    type->granularity = Granularity::per_axis(context.selected<ChannelWise>(node.result()).axis);
    return context.set_quantized(node.result(), std::move(type));
  }
};

}  // namespace

void register_transparent(WeightOnly::Registration& methods) {
  methods.add_parameterized<TransparentMethod, ops::Identity>({identity_source});
  methods.add_parameterized<TransparentMethod, ops::Transpose>({transpose_source});
  methods.add_parameterized<TransparentMethod, ops::Reshape>({reshape_source});
}

}  // namespace quadrant::inline v0::weight_only
