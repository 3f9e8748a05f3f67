// What training minimizes.
#pragma once

#include <array>

#include "quadrant/ir/ops/functions.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> negative_log_likelihood_loss(const KernelCall& call);
[[nodiscard]] Expected<Tensors> softmax_cross_entropy_loss(const KernelCall& call);

inline constexpr std::array losses{
    KernelEntry{ops::NegativeLogLikelihoodLoss::kind, negative_log_likelihood_loss,
                HalfFloats::widened},
    KernelEntry{ops::SoftmaxCrossEntropyLoss::kind, softmax_cross_entropy_loss,
                HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
