// Trial runs: points at which a model asks for statistics get them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

struct GatherStatsOptions {
  /// By `stats_key`: the axis along which statistics are wanted, too; from the end where negative.
  std::map<std::string, std::int64_t, std::less<>> axes{};
  Executor* executor = nullptr;  ///< as of CalibrateOptions
  Sink* sink = nullptr;
};

struct GatheredStats {
  std::int64_t gathered = 0;
  /// Each `stats_ref` that stands as before, and each whose axis was not the same in all samples.
  std::vector<LeftAlone> left;
};

/// Runs all samples, and replaces each `stats_ref` of the graph by the `stats` of the finite
/// elements that were seen there. `runtime` must know `stats_ref`, as the interpreter does. The
/// result is the same for any order of the samples and any executor. The graph needs exclusive
/// access; it stays as it was if this fails.
///
/// `usage`: a key of `axes` that no `stats_ref` has; else `calibrate`'s errors.
[[nodiscard]] Expected<GatheredStats> gather_stats(Graph& graph, const Runtime& runtime,
                                                   const DataSet& data,
                                                   const GatherStatsOptions& options = {});

}  // namespace quadrant::inline v0
