// LSTM, GRU, RNN: W [directions, gates * hidden, inputs] and R [directions, gates * hidden, hidden]
// ask for a scale a row. What a gate makes of the sum is not linear, so no scale goes behind.
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

QUADRANT_PARAMETERIZED_CONSUMER(
    RecurrentMethod, WeightOnly, std::monostate,
    requires_parents(AnyState, AnyQuantizable, AnyState, variadic(or_absent(AnyState))),
    requires_parents(AnyState, AnyState, AnyQuantizable, variadic(or_absent(AnyState)))) {
  using RecurrentMethodBase::RecurrentMethodBase;
  void request(NodeRef node, Asks& asks) const override {
    Weighted weighted;
    for (const std::uint32_t operand : {1U, 2U}) {
      if (node.operand_type(operand)->shape.rank() != 3) continue;
      weighted.weights.push_back({.operand = operand, .channel = 1, .contracted = 2});
    }
    request_weights(scheme(), node, weighted, asks);
  }
};

}  // namespace

void register_recurrent(WeightOnly::Registration& methods) {
  methods.add_parameterized<RecurrentMethod, ops::Rnn>({});
  methods.add_parameterized<RecurrentMethod, ops::Gru>({});
  methods.add_parameterized<RecurrentMethod, ops::Lstm>({});
}

}  // namespace quadrant::inline v0::weight_only
