// Operations with bodies. The interpreter runs these itself (runtime/control_flow.hpp); the entries
// say that it knows them.
#pragma once

#include <array>

#include "ir/ops/functions.hpp"
#include "runtime/kernel_function.hpp"

namespace quadrant::inline v0::interpreted {

/// Of an operation whose bodies are only carried: refuses it.
KernelFunction without_body;

inline constexpr std::array control_flow{
    KernelEntry{ops::If::kind, without_body},
    KernelEntry{ops::Loop::kind, without_body},
    KernelEntry{ops::Scan::kind, without_body},
};

}  // namespace quadrant::inline v0::interpreted
