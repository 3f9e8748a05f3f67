// What schemes have in common whose forms came with the model, as `quantize` and `dequantize` in
// it: codes go on where a `quantize` was, and are requantized by way of floats.
#pragma once

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Of a `quantize`: it takes the form of its result as it is, if it can be read.
void request_own_form(NodeRef quantize, Asks<GivenForm>& asks);

/// Phase 4 of a `quantize`: where its operand is codes already, these take its place. What computes
/// them then has its name, unless it had one of its own before: an input, a constant, another
/// `quantize`, a `storage_cast`.
[[nodiscard]] Expected<void> take_codes_over(NodeRef quantize, RewriteContext& context);

/// For `Scheme::convert`: a `dequantize` and a `quantize`.
[[nodiscard]] Expected<Value> requantize_given(Value quantized, const GivenForm& to,
                                               RewriteContext& context);

/// All four phases; where `options` name no gains, by OperationsGain and the optimal policy: the
/// forms are given, and what is left to decide is which operations compute on them.
[[nodiscard]] Expected<QuantizeResult> quantize_given(const Graph& graph, const Registry& registry,
                                                      QuantizeOptions options);

}  // namespace quadrant::inline v0
