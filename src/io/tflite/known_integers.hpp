// Small lists of integers that follow from shapes: exporters compute shapes at run time, even where
// they are known.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::tflite {

/// Stands for an integer that is not known. (-1 is what reshapes find out themselves.)
inline constexpr std::int64_t unknown_integer = std::numeric_limits<std::int64_t>::min();

using KnownIntegers = std::unordered_map<Value, std::vector<std::int64_t>>;

/// The integers that `node` computes, if they follow from those of its operands, from constants and
/// shapes. Empty for other operations, and for long lists.
[[nodiscard]] std::optional<std::vector<std::int64_t>> known_integers(const Graph& graph,
                                                                      NodeRef node,
                                                                      const KnownIntegers& known);

/// Those of `value`: known, or a constant.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_of(const Graph& graph, Value value,
                                                                   const KnownIntegers& known);

}  // namespace quadrant::inline v0::tflite
