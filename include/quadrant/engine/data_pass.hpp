// Between phases 3 and 4: the one time the contents of selected weights are read before they are
// written.
#pragma once

#include <vector>

#include "quadrant/engine/rewriting.hpp"
#include "quadrant/engine/selection.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct DataPassResult {
  PreparedData prepared;  ///< what methods kept for their rewriters: scales, say
  Vetoes refused;         ///< nodes whose contents forbid quantization, each with the reason
};

/// Calls `examine` of every selected node, in parallel on `executor`. Memory is bounded by what the
/// methods keep. A node's error (an unreadable file) ends the pass.
[[nodiscard]] Expected<DataPassResult> run_data_pass(
    const GraphView& graph, const std::vector<NodeId>& order, const Eligibility& eligibility,
    const RequestGraph& requests, const Selection& selection, Executor& executor, Sink* sink);

}  // namespace quadrant::inline v0
