// Between phases 3 and 4: the one time the contents of selected weights are read before they are
// written.
#pragma once

#include "engine/dealt_nodes.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

struct DataPassResult {
  PreparedData data;
  Vetoes refused;  ///< nodes whose contents forbid quantization, each with the reason
};

/// Calls `examine` of every node whose results were selected, and the scheme's `resolve` for every
/// group of values that share parameters, both in parallel on `executor`. Memory is bounded by what
/// they keep, which goes to `store` unless that is null. An error of either (an unreadable file)
/// ends the pass. Of ranks, which must have selected the same (`usage`), each examines a share, of
/// about the same cost, and gets what the others found, as one message of all and into its store.
[[nodiscard]] Expected<DataPassResult> run_data_pass(const SelectionProblem& problem,
                                                     const Selection& selection,
                                                     const ParameterTable& parameters,
                                                     Executor& executor, Sink* sink,
                                                     ConstantStore* store, const DealtNodes& dealt);

}  // namespace quadrant::inline v0
