// Recurrent layers.
#pragma once

#include <array>

#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

KernelFunction rnn, gru, lstm;

inline constexpr std::array recurrent{
    KernelEntry{"rnn", rnn, HalfFloats::widened},
    KernelEntry{"gru", gru, HalfFloats::widened},
    KernelEntry{"lstm", lstm, HalfFloats::widened},
};

}  // namespace quadrant::inline v0::interpreted
