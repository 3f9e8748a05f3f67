// Small lists of integers that follow from shapes: exporters compute shapes at run time, even where
// they are known.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::tflite {

/// An integer of a shape that is computed: a number, or one that only the run tells. That one may
/// be known to be the extent of a value; two of which nothing is known need not be equal.
struct KnownInteger {
  std::optional<std::int64_t> number;
  Value of;               ///< without a number: it is the extent of this value, if not absent ...
  std::int64_t axis = 0;  ///< ... along this axis
};

using IntegerList = std::vector<KnownInteger>;
using KnownIntegers = std::unordered_map<Value, IntegerList>;

/// The integers that `node` computes, if they follow from those of its operands, from constants and
/// shapes. Empty for other operations, and for long lists.
[[nodiscard]] std::optional<IntegerList> known_integers(const Graph& graph, NodeRef node,
                                                        const KnownIntegers& known);

/// Those of `value`: known, or a constant.
[[nodiscard]] std::optional<IntegerList> integers_of(const Graph& graph, Value value,
                                                     const KnownIntegers& known);

/// Whether `integer` is the extent of `value`, of a known rank, along `axis`: for all that is fed.
[[nodiscard]] bool is_extent(const Graph& graph, const KnownInteger& integer, Value value,
                             std::int64_t axis);

/// As a shape: open where only the run tells, and where a reshape has -1 for what is left.
[[nodiscard]] Shape shape_of(const IntegerList& integers);

}  // namespace quadrant::inline v0::tflite
