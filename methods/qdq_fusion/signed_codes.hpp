// Unsigned codes as signed ones: 128 less, and so are their zero points. They stand for the same
// floats.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// Turns the codes of a model of type uint8 into codes of type int8, if more of its products have
/// kernels then: those that multiply uint8 data by weights with a sign, as many tools quantize,
/// have none in LiteRT. All of them, or none, but those that the model takes or gives, or an
/// operation reads as plain integers. Returns how many values changed. `model` is explicit. Linear;
/// weights are computed while the result is written.
[[nodiscard]] Expected<std::int64_t> prefer_signed_codes(Graph& model);

}  // namespace quadrant::inline v0::qdq_fusion
