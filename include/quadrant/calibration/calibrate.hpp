// Calibration: statistics of a model's values on data, from which ranges of activations are chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// Whether two models are the same, by their contents.

/// A hash of the graph's structure, names and constants, never 0: that of what was read is the same
/// on all machines. It tells accidents apart, not attackers. Reads all constants once, on
/// `executor` if there is one; their errors are handed on.
[[nodiscard]] Expected<std::uint64_t> model_hash(const Graph& graph, Executor* executor = nullptr);

// A part of the samples, for one of several runs that are added up.

/// Of `count` parts of a data set, the one with this index.
struct SamplePart {
  std::size_t index = 0;
  std::size_t count = 1;
};

/// Every `part.count`-th sample of `samples`, from `part.index` on: each sample is in one part, and
/// parts differ by one in size. A part may be empty. `part.index` < `part.count`. Refers to
/// `samples`.
[[nodiscard]] std::unique_ptr<DataSet> part_of(const DataSet& samples, SamplePart part);

struct WatchedValue {
  Value value;
  /// Also keep statistics along this axis, counted from the end where negative.
  std::optional<std::int64_t> channel_axis{};
};

struct CalibrateOptions {
  std::vector<WatchedValue> values{};  ///< empty: all of `real_values(graph)`, none by channel
  bool histograms = true;        ///< false: numbers, ranges and sums are all that is asked for
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;          ///< progress, and warnings of NaN and infinity; may be null
};

/// The inputs and the computed values of a graph that are floats, or may be, and that are read;
/// producers before users. Neither constants nor values of quantized type.
[[nodiscard]] Expected<std::vector<Value>> real_values(const Graph& graph);

/// Runs all samples and keeps statistics of the values, by their names. The result is the same for
/// any order of the samples and any executor. Samples of other batches may give other last digits:
/// how a runtime rounds a product may depend on the number of rows.
///
/// Memory: the statistics once, whatever the number of samples and threads: by value what its
/// Histogram takes, a few hundred bytes without one; and for each sample that runs at the same time
/// what the runtime needs, and the largest value's statistics. NaN and infinities are counted and
/// otherwise left out; a warning names the value and the first sample.
///
/// `usage`: there are no samples, or a value is asked for twice or is known to be no float or
/// not to have the axis of its channels. A value of which the graph does not know the type, and
/// that turns out to be none, is left out. Errors of the runtime and the data are handed on, with
/// the name of the sample.
[[nodiscard]] Expected<StatisticsTable> calibrate(const Graph& graph, const Runtime& runtime,
                                                  const DataSet& data,
                                                  const CalibrateOptions& options = {});

// Trial runs: points at which a model asks for statistics get them.

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
