// Operations that runtimes compute element by element on codes, each operand and the result in a
// scale of its own.
#include <vector>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"
#include "static_affine/activations.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

struct Arithmetic {
  bool is_real_in_openvino = false;  ///< its kernels read and make codes, and compute real numbers
};

QUADRANT_PARAMETERIZED(ArithmeticMethod, StaticAffine, Arithmetic,
                       requires_parents(variadic(or_absent(AnyState)))) {
  using ArithmeticMethodBase::ArithmeticMethodBase;

  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& context) const override {
    if (parameters().is_real_in_openvino && scheme().options().kernels == KernelsTarget::openvino) {
      return {State::Unquantized, "OpenVINO computes it in float"};
    }
    return ArithmeticMethodBase::check_eligibility(node, context);
  }

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (!makes_activation(scheme(), node, wanted, asks)) return;
    std::vector<Asks::Need> needs;
    for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
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
  methods.add_parameterized<ArithmeticMethod, ops::Concat>({});
  methods.add_parameterized<ArithmeticMethod, ops::GlobalAveragePool>({});
  constexpr Arithmetic real_in_openvino{.is_real_in_openvino = true};
  methods.add_parameterized<ArithmeticMethod, ops::Multiply>(real_in_openvino);
  methods.add_parameterized<ArithmeticMethod, ops::LeakyRelu>(real_in_openvino);
  methods.add_parameterized<ArithmeticMethod, ops::Sigmoid>(real_in_openvino);
  methods.add_parameterized<ArithmeticMethod, ops::Softmax>(real_in_openvino);
}

}  // namespace quadrant::inline v0::static_affine
