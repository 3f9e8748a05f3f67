// What transformers are made of: attention, and positions as rotations.
#pragma once

#include <array>

#include "ir/ops/functions.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction attention, rotary_embedding;
/// com.microsoft's, whose operands lie in another order.
KernelFunction rotary_embedding_microsoft;

inline constexpr std::array attentions{
    KernelEntry{ops::Attention::kind, attention, HalfFloats::widened},
    KernelEntry{ops::RotaryEmbedding::kind, rotary_embedding, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::RotaryEmbedding", rotary_embedding_microsoft,
                HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
