// A graph as text, for people and bug reports, and back.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct PrintOptions {
  /// Constants with at most this many elements are printed in full; larger ones and deferred ones
  /// as `<...>`, which `parse_graph` reads back as zeros.
  std::int64_t largest_constant = 64;
};

/// One line a node, in topological order:
/// `%y: tensor<2x4xf32> = matmul(%x, %w) {name = "dense"}`.
[[nodiscard]] std::string print_graph(const Graph& graph, const PrintOptions& options = {});

/// Reads what `print_graph` writes. Errors give line and column.
[[nodiscard]] Expected<Graph> parse_graph(std::string_view text);

}  // namespace quadrant::inline v0
