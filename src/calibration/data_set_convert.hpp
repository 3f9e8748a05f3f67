// A tensor of one element type as one of another.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::data_set {

/// Floats are rounded to the nearest, ties to even, in one step; whole numbers must be kept as they
/// are. `invalid_model` with the place of the first element for which there is none in `element`.
[[nodiscard]] Expected<Tensor> converted(const Tensor& tensor, ElementType element);

/// `[1, 0, 3]`: where element `i` of a tensor of that shape stands.
[[nodiscard]] std::string index_text(const Shape& shape, std::int64_t i);

}  // namespace quadrant::inline v0::data_set
