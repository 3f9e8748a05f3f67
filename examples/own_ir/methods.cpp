#include "methods.hpp"

#include <utility>

#include "adaptor.hpp"

namespace kiln {
namespace {

using namespace quadrant;

// A scale may vary along every axis but those that the sum runs over. A filter [KH, KW, C, O] has
// its channels last, where ONNX has them first; a dense weight [N, K] has them first, where ONNX's
// matmul has them last. The destination is read as it is.
QUADRANT_CONSUMER(Conv2dMethod, WeightOnly, Conv2d,
                  requires_parents(AnyState, AnyQuantizable, AnyState)) {
  void request(NodeRef, Asks& asks) const override { asks.benefit(1, Granularity::per_axis(3)); }
};

QUADRANT_CONSUMER(DenseMethod, WeightOnly, Dense,
                  requires_parents(AnyState, AnyQuantizable, AnyState)) {
  void request(NodeRef, Asks& asks) const override { asks.benefit(1, Granularity::per_axis(0)); }
};

}  // namespace

Expected<Registry> weight_only(WeightOnlyOptions options) {
  QUADRANT_TRY(WeightOnly scheme, WeightOnly::make(std::move(options)));
  RegistryBuilder builder = RegistryBuilder::of(std::move(scheme));
  WeightOnly::Registration own(builder);
  own.add<Conv2dMethod>();
  own.add<DenseMethod>();
  return std::move(builder).freeze();
}

}  // namespace kiln
