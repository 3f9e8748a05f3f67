// Statistics of a model's values, for people and for programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

/// A value; refers to its statistics.
struct StatisticsRow {
  std::string name;
  const TensorStatistics* statistics = nullptr;

  [[nodiscard]] const Histogram& histogram() const noexcept { return statistics->histogram; }
  [[nodiscard]] std::uint64_t elements() const noexcept {
    return histogram().finite_count() + histogram().non_finite_count();
  }
};

/// Producers before users; values that no operation reads come last. Rows refer to `table`.
[[nodiscard]] Expected<std::vector<StatisticsRow>> statistics_rows(const Graph& graph,
                                                                   const StatisticsTable& table);
/// A table.
[[nodiscard]] std::string to_string(std::span<const StatisticsRow> rows);
[[nodiscard]] Json to_json(std::span<const StatisticsRow> rows);

}  // namespace quadrant::inline v0
