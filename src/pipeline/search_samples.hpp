// A request's samples, and what each of them is for in a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/sample_parts.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Samples to judge on, with their labels.
struct Judges {
  std::unique_ptr<DataSet> samples;
  std::optional<std::vector<std::int64_t>> labels{};
};

/// Those to judge on may be others than the request's.
class SearchSamples {
 public:
  static Expected<SearchSamples> open(const RunRequest& request, const Graph& model,
                                      const OptimizeOptions& options, const RunContext& context);

  [[nodiscard]] const std::vector<Fold>& folds() const noexcept { return parts_.folds; }
  [[nodiscard]] const std::vector<std::size_t>& held_back() const noexcept {
    return parts_.held_back;
  }
  [[nodiscard]] const OptimizeSamples& counts() const noexcept { return counts_; }
  /// From now on all are fitted and judged on: labels are not equally many for each.
  void join();
  /// Those to fit on of these indexes.
  [[nodiscard]] std::unique_ptr<DataSet> fitting(std::vector<std::size_t> chosen) const;
  /// Those to judge on of these indexes.
  [[nodiscard]] Judges judges(const std::vector<std::size_t>& chosen) const;
  [[nodiscard]] Judges all_judges() const;
  /// What keeps the figures from telling what the result is worth; empty: nothing does.
  [[nodiscard]] std::string doubt() const;
  /// All to fit on but those held back.
  [[nodiscard]] std::unique_ptr<DataSet> searched() const;
  [[nodiscard]] const DataSet& all() const { return *all_; }
  /// All to judge on: the same, where no others are given.
  [[nodiscard]] const DataSet& judging() const { return judging_ != nullptr ? *judging_ : *all_; }

 private:
  SearchSamples() = default;
  [[nodiscard]] Expected<void> check_labels(const std::string& file) const;

  std::unique_ptr<DataSet> all_;
  std::unique_ptr<DataSet> judging_;  // null: `all_`
  std::optional<std::vector<std::int64_t>> labels_;
  SampleParts parts_;
  OptimizeSamples counts_;
};

}  // namespace quadrant::inline v0
