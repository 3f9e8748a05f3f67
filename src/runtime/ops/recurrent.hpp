// Recurrent layers.
#pragma once

#include <array>

#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0::interpreted {

[[nodiscard]] Expected<Tensors> rnn(const KernelCall& call);
[[nodiscard]] Expected<Tensors> gru(const KernelCall& call);
[[nodiscard]] Expected<Tensors> lstm(const KernelCall& call);

inline constexpr std::array recurrent{
    KernelEntry{"rnn", rnn, HalfFloats::widened},
    KernelEntry{"gru", gru, HalfFloats::widened},
    KernelEntry{"lstm", lstm, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
