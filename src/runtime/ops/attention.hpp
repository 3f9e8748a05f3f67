// What transformers are made of: attention, and positions as rotations.
#pragma once

#include <array>

#include "quadrant/ir/ops/functions.hpp"
#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> attention(const KernelCall& call);
[[nodiscard]] Expected<Tensors> rotary_embedding(const KernelCall& call);
/// com.microsoft's, whose operands lie in another order.
[[nodiscard]] Expected<Tensors> rotary_embedding_microsoft(const KernelCall& call);

inline constexpr std::array attentions{
    KernelEntry{ops::Attention::kind, attention, HalfFloats::widened},
    KernelEntry{ops::RotaryEmbedding::kind, rotary_embedding, HalfFloats::widened},
    KernelEntry{"onnx.com.microsoft::RotaryEmbedding", rotary_embedding_microsoft,
                HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
