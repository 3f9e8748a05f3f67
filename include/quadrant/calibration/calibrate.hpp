// What the values of a model are when it runs on data: the ranges that activations are quantized
// by.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct WatchedValue {
  Value value;
  /// Also keep statistics along this axis, counted from the end where negative.
  std::optional<std::int64_t> channel_axis{};
};

struct CalibrateOptions {
  std::vector<WatchedValue> values{};  ///< empty: all of `real_values(graph)`, none by channel
  bool histograms = true;              ///< false: numbers, ranges and sums are all that is asked for
  Executor* executor = nullptr;        ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;                ///< progress, and warnings of NaN and infinity; may be null
};

/// The inputs and the computed values of a graph that are floats, or may be, and that somebody
/// reads; producers before users. Neither constants nor values of quantized type.
[[nodiscard]] Expected<std::vector<Value>> real_values(const Graph& graph);

/// Runs all samples and keeps statistics of the values, by their names. The result is the same for
/// any order of the samples and any executor. Samples of other batches may give other last digits:
/// how a runtime rounds a product may depend on the number of rows.
///
/// Memory: the statistics once, whatever the number of samples and threads: by value what its
/// Histogram takes, a few hundred bytes without one; and for each sample that runs at the same time what the runtime needs, and the largest value's
/// statistics. NaN and infinities are counted and otherwise left out; a warning names the value and
/// the first sample.
///
/// `usage`: there are no samples, or a value is asked for twice or is known to be no float or
/// not to have the axis of its channels. A value of which the graph does not know the type, and
/// that turns out to be none, is left out. Errors of the runtime and the data are handed on, with
/// the name of the sample.
[[nodiscard]] Expected<StatisticsTable> calibrate(const Graph& graph, const Runtime& runtime,
                                                  const DataSet& data,
                                                  const CalibrateOptions& options = {});

}  // namespace quadrant::inline v0
