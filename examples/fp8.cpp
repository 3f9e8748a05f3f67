// FP8 for both factors of products (arXiv 2209.05433), in a command of one's own: weights are
// weight_only's, what they are multiplied by becomes codes of e4m3 in front of the product.
//
//   build/release/bin/example_fp8 quantize MODEL -o OUT --scheme fp8 --calibration DATA
#include <algorithm>

#include "quadrant/command.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/quadrant.hpp"

using namespace quadrant;

class Fp8 final : public WeightOnly {
 public:
  explicit Fp8(SchemeData known) : WeightOnly({.type = "fp8-e4m3"}), data(std::move(known)) {}
  QUADRANT_DERIVED_SCHEME(Fp8, WeightOnly, "fp8")
  [[nodiscard]] std::string describe() const override { return "products of e4m3"; }
  Expected<Value> enter(Value real, const Granularity& to, RewriteContext& context) const;
  [[nodiscard]] const TensorStatistics* seen(const GraphView& graph, Value value) const {
    const auto* found = data.statistics ? data.statistics->find(graph.value_name(value)) : nullptr;
    return found != nullptr && found->histogram.non_finite_count() == 0 ? found : nullptr;
  }
  SchemeData data;
};

Expected<Value> Fp8::enter(Value real, const Granularity&, RewriteContext& context) const {
  const Histogram& range = seen(context.view(), real)->histogram;
  QUADRANT_TRY(NumberFormat format, parse_number_format("f8e4m3 * f32[tensor] : f32"));
  format.expressed = context.view().type(real).element;  // f16, in a model of such
  QUADRANT_TRY(Quantization to, scaled_for(format, std::max(-range.min(), range.max())));
  return context.quantize(real, std::move(to));
}

QUADRANT_PARAMETERIZED_CONSUMER(
    Fp8Product, Fp8, const Product*,
    requires_parents(AnyUnquantized, AnyQuantizable, or_absent(AnyState))) {
  using Fp8ProductBase::Fp8ProductBase;
  void request(NodeRef node, Asks& asks) const override {
    const auto channel = find_product(node)->channel(node, node.operand_type(1)->shape);
    if (!channel) {
      asks.refuse("the weight has no channels");
    } else if (scheme().seen(*node.graph, node.operand(0)) == nullptr) {
      asks.refuse("its input was not seen");
    } else {
      asks.take_all({{0, Granularity::per_tensor()}, {1, Granularity::per_axis(*channel)}},
                    Gain{1});
    }
  }
  Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    for (std::uint32_t i = 0; i < 2 && context.read<Granularity>(node, i); ++i) {
      QUADRANT_TRY(const Value real, context.dequantize(node.operand(i)));
      QUADRANT_CHECK(context.graph().set_operand(node.id, i, real));
    }
    return {};
  }
};

QUADRANT_METHODS(Fp8) {
  add_all_of<WeightOnly>();
  add_where<Fp8Product>(
      [](const Operation& row) { return row.product && row.product->weight == 1; });
}

int main(int argc, char** argv) {
  return run_command(argc, argv, {scheme_entry<Fp8>("products of e4m3", SchemeInput::ranges)});
}
