// Operations with bodies. The interpreter runs these itself (runtime/control_flow.hpp); their
// kernel says that it knows them.
#pragma once

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

/// Of an operation whose bodies are only carried: refuses it.
[[nodiscard]] Expected<Tensors> without_body(const KernelCall& call);

}  // namespace quadrant::inline v0::interpreted
