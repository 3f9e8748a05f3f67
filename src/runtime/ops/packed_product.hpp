// Products with weights that are never there whole as floats.
#pragma once

#include <cstdint>
#include <span>

#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0::interpreted {

/// Whether `tensor` is there, of that element type and so many elements.
[[nodiscard]] bool has(const Tensor& tensor, ElementType element, std::int64_t count);
/// The error that `what`, this tensor, is none for the operation.
[[nodiscard]] tl::unexpected<Error> does_not_fit(std::string_view what, const Tensor& tensor);

/// Writes row `row` of a weight as floats.
using UnpackRow = FunctionRef<void(std::int64_t row, std::span<float> out)>;

/// `x` (float32, [..., columns]) times the transpose of a weight [rows, columns], plus `bias` (of
/// `rows`, or empty). Unpacks some rows at a time.
[[nodiscard]] Expected<Tensor> packed_product(const Tensor& x, const Tensor& bias,
                                              std::int64_t rows, std::int64_t columns,
                                              UnpackRow unpack);

}  // namespace quadrant::inline v0::interpreted
