// Codes of up to 8 bits with a sign and without: half their range apart, 128 for 8 bits, and so are
// their zero points. They stand for the same floats.
#pragma once

#include <functional>
#include <unordered_set>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The values of storage type `storage` (of 4 or 8 bits) whose codes are seen only by
/// a `quantize` or a constant that makes them, moves, and a `dequantize` that reads them; where
/// moves connect several, all of them are such. Those that the model takes or gives, or that an
/// operation reads as plain integers, are not. `is_ours`: whether a `quantize` or constant may make
/// other codes. Linear.
[[nodiscard]] std::unordered_set<Value> free_codes(const Graph& graph, ElementType storage,
                                                   const std::function<bool(NodeId)>& is_ours);

/// Turns these codes with a sign into ones without, and the other way round. `codes`: all that
/// moves connect, as `free_codes` finds them. Weights are computed while they are read. Fails where
/// zero points cannot be read, and changes nothing then.
[[nodiscard]] Expected<void> change_sign(Graph& graph, const std::unordered_set<Value>& codes);

}  // namespace quadrant::inline v0
