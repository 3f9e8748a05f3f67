// Operations that runtimes compute element by element on codes, each operand and the result in a
// scale of its own.
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "static_affine/activations.hpp"
#include "static_affine/methods.hpp"
#include "static_affine/onnx_op.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

/// How many operands are values; those behind are numbers that say how.
struct Values {
  std::size_t most = SIZE_MAX;
};

QUADRANT_PARAMETERIZED(ArithmeticMethod, StaticAffine, Values,
                       requires_parents(variadic(optional(AnyState)))) {
  using ArithmeticMethodBase::ArithmeticMethodBase;

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (!makes_activation(scheme(), node, wanted, asks)) return;
    std::vector<Asks::Need> needs;
    const std::size_t count = std::min(parameters().most, node.operands().size());
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!node.operand(i).is_absent()) needs.push_back({i, wanted});
    }
    asks.compute(needs);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return compute_codes(node, context);
  }
};

}  // namespace

void register_arithmetic(StaticAffine::Registration& methods) {
  methods.add_parameterized<ArithmeticMethod, ops::Add>({});
  methods.add_parameterized<ArithmeticMethod, ops::Multiply>({});
  methods.add_parameterized<ArithmeticMethod, ops::Concat>({});
  methods.add_parameterized<ArithmeticMethod, OnnxOp<"onnx.GlobalAveragePool">>({});
  methods.add_parameterized<ArithmeticMethod, OnnxOp<"onnx.LeakyRelu">>({});
  methods.add_parameterized<ArithmeticMethod, OnnxOp<"onnx.Sigmoid">>({});
  methods.add_parameterized<ArithmeticMethod, OnnxOp<"onnx.Softmax">>({});
}

}  // namespace quadrant::inline v0::static_affine
