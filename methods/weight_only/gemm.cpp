#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

QUADRANT_CONSUMER(GemmMethod, WeightOnly, ops::Gemm,
                  requires_parents(AnyQuantizable, AnyQuantizable, optional(AnyState)),
                  requires_parents(AnyQuantizable, AnyUnquantized, optional(AnyState)),
                  requires_parents(AnyUnquantized, AnyQuantizable, optional(AnyState))) {
  void request(NodeRef node, Asks& asks) const override {
    const ops::Gemm gemm{node};
    asks.benefit(0, {gemm.trans_a() ? 1 : 0});  // rows of A'
    asks.benefit(1, {gemm.trans_b() ? 0 : 1});  // columns of B'
  }
};

}  // namespace

void register_gemm(WeightOnly::Registration& methods) { methods.add<GemmMethod>(); }

}  // namespace quadrant::inline v0::weight_only
