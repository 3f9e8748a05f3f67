// Which values between the operations of a model have scales.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

struct ActivationCount {
  std::uint64_t count = 0;
  std::uint64_t quantized = 0;
  /// Of those that are not: the graph does not tell what type they have.
  std::uint64_t unknown_type = 0;
  std::string first_unquantized;  ///< name of the first in `order`; empty where all are quantized

  friend bool operator==(const ActivationCount&, const ActivationCount&) = default;
};

/// Real values that depend on an input: the inputs themselves, and what operations compute, where
/// somebody reads it. What a `dequantize` gives back counts with the value that was quantized.
/// Integers, and what is computed of shapes, are none.
///
/// One is quantized if it is codes; if all who read it quantize it; or if it comes of codes or goes
/// to them through operations that hand on values as they are (a transpose, a maximum of a window).
/// The result of an operation is quantized also where its one reader is a Relu or Clip whose result
/// is: runtimes compute the two as one. `order`: topological. Linear.
[[nodiscard]] ActivationCount count_activations(const GraphView& graph,
                                                const std::vector<NodeId>& order);

}  // namespace quadrant::inline v0
