// Statistics of several runs, added up.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A file that was merged.
struct SavedStatistics {
  std::string path;
  std::string model;
  std::set<std::string> values;
  std::set<std::string> with_channels;
};

class MergedStatistics {
 public:
  /// Reads files of `graph`, whose hash is `hash`. Errors are those of `read_statistics_of`.
  [[nodiscard]] static Expected<MergedStatistics> read(const Graph& graph, std::uint64_t hash,
                                                       std::span<const std::string> paths);

  [[nodiscard]] const StatisticsTable& table() const noexcept { return table_; }
  /// What to gather so as to add to them: all values, and channels where they have some.
  [[nodiscard]] Expected<std::vector<WatchedValue>> wanted(const Graph& graph) const;
  /// Warns of values that only one of a file and `gathered` has: of other samples than the rest.
  void add(const StatisticsTable& gathered, const RunContext& context);
  /// All of it, called `model`. Warns of channels that are lost: they remain where all that was
  /// merged has them along the same axis.
  [[nodiscard]] StatisticsTable finish(const std::string& model, const RunContext& context) &&;

 private:
  std::uint64_t hash_ = 0;
  std::vector<SavedStatistics> saved_;
  StatisticsTable table_;
};

}  // namespace quadrant::inline v0
