// Losses: what training minimizes.
#pragma once

#include <array>

#include "ir/ops/functions.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction negative_log_likelihood_loss, softmax_cross_entropy_loss;

inline constexpr std::array losses{
    KernelEntry{ops::NegativeLogLikelihoodLoss::kind, negative_log_likelihood_loss,
                HalfFloats::widened},
    KernelEntry{ops::SoftmaxCrossEntropyLoss::kind, softmax_cross_entropy_loss,
                HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
