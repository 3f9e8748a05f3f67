// From which version of an operator on readers know what it is used for.
#pragma once

#include <memory>
#include <vector>

#include "io/tflite/schema.hpp"

namespace quadrant::inline v0::tflite {

/// The earliest version of operator `code` that takes the operands of `op`. `tensors`: of the
/// model.
[[nodiscard]] std::int32_t needed_version(
    BuiltinOperator code, const schema::OperatorT& op,
    const std::vector<std::unique_ptr<schema::TensorT>>& tensors);

}  // namespace quadrant::inline v0::tflite
