// Recurrent layers compute in float: no runtime has them in integers with scales that are given. On
// request their weights are stored as codes.
#include "quadrant/ir/ops.hpp"
#include "static_affine/element_moves.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// No parameters: the operands are the same in all of them.
struct Same {};

QUADRANT_PARAMETERIZED_CONSUMER(RecurrentMethod, StaticAffine, Same,
                                requires_parents(variadic(or_absent(AnyState)))) {
  using RecurrentMethodBase::RecurrentMethodBase;

  void request(NodeRef node, Asks& asks) const override {
    if (!scheme().options().quantized_recurrent_weights) {
      asks.refuse("recurrent layers compute in float");
      return;
    }
    constexpr std::int64_t gates = 1;  // of `[directions, gates, inputs]`
    for (const std::uint32_t weight : {1U, 2U}) {
      if (constant_behind(*node.graph, node.operand(weight)) != nullptr) {
        asks.benefit(weight, scheme().weight(gates));
      }
    }
  }
};

}  // namespace

void register_recurrent(StaticAffine::Registration& methods) {
  methods.add_parameterized<RecurrentMethod, ops::Rnn>({});
  methods.add_parameterized<RecurrentMethod, ops::Gru>({});
  methods.add_parameterized<RecurrentMethod, ops::Lstm>({});
}

}  // namespace quadrant::inline v0::static_affine
