#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// Output channels are axis 0 of the weight, whatever the number of spatial axes and groups.
QUADRANT_CONSUMER(ConvMethod, WeightOnly, ops::Conv,
                  requires_parents(AnyState, AnyQuantizable, optional(AnyState))) {
  void request(NodeRef /*node*/, Asks& asks) const override { asks.benefit(1, {0}); }
};

}  // namespace

void register_conv(WeightOnly::Registration& methods) { methods.add<ConvMethod>(); }

}  // namespace quadrant::inline v0::weight_only
