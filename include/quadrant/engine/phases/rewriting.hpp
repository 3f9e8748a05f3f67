// Phase 4: the graph becomes what was selected.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "quadrant/engine/declare/rewrite_context.hpp"
#include "quadrant/engine/phases/selection.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// What the data pass found.
struct PreparedData {
  /// By node: what its method kept for its rewriter, in order.
  std::unordered_map<NodeId, std::vector<Constant>> kept;
  /// By group of the ParameterTable: what the scheme's `resolve` found; null where it has none.
  std::vector<std::shared_ptr<const UniformType>> parameters;
};

/// A decision, complete: what phase 4 carries out. Refers to its parts.
struct Decided {
  const SelectionProblem& problem;
  const Selection& selection;
  const ParameterTable& parameters;
  const PreparedData& data;
};

/// Runs phase 4 on `graph`, which is the graph that the phases before read, or a copy of it. Node
/// by node, producers first: calls the rewriter of each node whose results were selected and of
/// each Consumer; then makes, once each, the other forms in which the results are read, and hands
/// them to their readers. Graph outputs, subgraphs and operations that no scheme knows read floats.
///
/// The float form keeps the value's name, so that references by name still find floats; quantized
/// forms beside it are called `<name>_quantized`. Nodes without uses are erased. After an error the
/// graph is partly rewritten.
[[nodiscard]] Expected<void> rewrite(GraphRewriter& graph, const Decided& decided);

}  // namespace quadrant::inline v0
