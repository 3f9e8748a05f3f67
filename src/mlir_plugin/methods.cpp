#include "mlir_plugin/methods.hpp"

#include <utility>
#include <vector>

#include "mlir_plugin/seen.hpp"
#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

weight_only::Weighted product(NodeRef node) {
  const std::vector<std::int64_t> none;
  const auto channels = node.attribute_or(MlirProduct::channels, none);
  const auto contracted = node.attribute_or(MlirProduct::contracted, none);
  weight_only::Weighted weighted;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (channels[i] < 0 && contracted[i] < 0) continue;  // it may not be a weight
    weighted.weights.push_back(
        {.operand = i, .channel = channels[i], .contracted = contracted[i]});
  }
  return weighted;
}

struct ProductOp {
  static constexpr std::string_view kind = MlirProduct::kind;
  NodeRef node;
};

QUADRANT_CONSUMER(MlirProductMethod, WeightOnly, ProductOp,
                  requires_parents(AnyQuantizable, AnyQuantizable, variadic(AnyState)),
                  requires_parents(AnyQuantizable, AnyUnquantized, variadic(AnyState)),
                  requires_parents(AnyUnquantized, AnyQuantizable, variadic(AnyState))) {
  void request(NodeRef node, Asks& asks) const override {
    weight_only::request_weights(scheme(), node, product(node), asks);
  }
};

}  // namespace

Expected<Registry> mlir_weight_only_registry(const WeightOnlyOptions& options) {
  QUADRANT_TRY(WeightOnly scheme, WeightOnly::make(options));
  RegistryBuilder builder = RegistryBuilder::of(std::move(scheme));
  WeightOnly::Registration(builder).add<MlirProductMethod>();
  return std::move(builder).freeze();
}

}  // namespace quadrant::inline v0::mlir_plugin
