// Operations whose results are activations.
#pragma once

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/methods/static_affine.hpp"

namespace quadrant::inline v0::static_affine {

/// For `callback` of an operation whose results are activations: whether `wanted` is what they can
/// be. If not, says why.
[[nodiscard]] bool makes_activation(const StaticAffine& scheme, NodeRef node,
                                    const AffineForm& wanted, Asks<AffineForm>& asks);

/// For `rewriter`: the results that were selected get their types, and codes are computed from then
/// on.
[[nodiscard]] Expected<void> compute_codes(NodeRef node, RewriteContext& context);

}  // namespace quadrant::inline v0::static_affine
