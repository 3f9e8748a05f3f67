// Weights whose products meet in 16 bits.
#include <algorithm>
#include <utility>

#include "quadrant/targets/runtime_profile.hpp"
#include "static_affine/element_moves.hpp"
#include "static_affine/encodings.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

PairingRuntimes runtimes_of(KernelsTarget kernels) {
  return {.onnxruntime = kernels == KernelsTarget::any || kernels == KernelsTarget::onnxruntime,
          .openvino = kernels == KernelsTarget::any || kernels == KernelsTarget::openvino};
}

void add(WeightPairs& pairs, PairOrder order, const Granularity& granularity) {
  if (granularity.kind == Granularity::Kind::axis &&
      std::ranges::find(order.along, granularity.axis) != order.along.end()) {
    pairs.have_two_scales = true;
  } else if (std::ranges::find(pairs.orders, order) == pairs.orders.end()) {
    pairs.orders.push_back(std::move(order));
  }
}

}  // namespace

WeightPairs pairs_of(const StaticAffineOptions& options, const GraphView& graph, Value constant,
                     const Granularity& granularity) {
  WeightPairs pairs;
  const bool are_bytes = options.activations.bits == 8 && options.weights.bits == 8;
  if (!are_bytes || options.unsigned_weights) return pairs;
  const PairingRuntimes runtimes = runtimes_of(options.kernels);
  for (const Value value : moved_values(graph, constant)) {
    for (const Use& use : graph.uses(value.node)) {
      const NodeRef user{&graph, use.user};
      if (use.result != value.result) continue;
      for (PairOrder& order : pair_orders(user, use.operand, graph.type(value).shape, runtimes)) {
        add(pairs, order_at_constant(graph, value, std::move(order)), granularity);
      }
    }
  }
  return pairs;
}

}  // namespace quadrant::inline v0::static_affine
