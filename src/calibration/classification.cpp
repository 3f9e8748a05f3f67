#include <fmt/format.h>

#include <cmath>

#include "calibration/reals.hpp"
#include "quadrant/calibration/compare.hpp"

namespace quadrant::inline v0 {

namespace {

double share(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// How many classes stand above the one that is asked about.
std::size_t classes_above(std::span<const double> scores, std::size_t label) {
  const double own = scores[label];
  std::size_t above = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool higher = scores[i] > own || (std::isnan(own) && !std::isnan(scores[i]));
    const bool same = scores[i] == own || (std::isnan(own) && std::isnan(scores[i]));
    if (higher || (same && i < label)) ++above;
  }
  return above;
}

}  // namespace

double ClassificationScore::top1_share() const noexcept { return share(top1, rows); }
double ClassificationScore::top5_share() const noexcept { return share(top5, rows); }

std::int64_t row_count(const Tensor& scores) noexcept {
  if (scores.rank() == 0 || scores.extent(scores.rank() - 1) == 0) return 0;
  return scores.element_count() / scores.extent(scores.rank() - 1);
}

Expected<std::vector<std::int64_t>> top_classes(const Tensor& scores) {
  const auto rows = static_cast<std::size_t>(row_count(scores));
  std::vector<std::int64_t> top(rows, -1);
  if (rows == 0) return top;
  QUADRANT_TRY(const std::vector<double> values, to_doubles(scores));
  const std::size_t classes = values.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    double highest = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      const double value = values[row * classes + i];
      if (std::isnan(value) || (top[row] >= 0 && value <= highest)) continue;
      highest = value;
      top[row] = static_cast<std::int64_t>(i);
    }
  }
  return top;
}

Expected<void> add_scores(ClassificationScore& score, const Tensor& scores,
                          std::span<const std::int64_t> labels) {
  const auto rows = static_cast<std::size_t>(row_count(scores));
  if (rows != labels.size()) {
    return fail(ErrorCode::usage, fmt::format("{} labels for {} rows of scores of shape [{}]",
                                              labels.size(), rows, to_string(scores.shape())));
  }
  if (rows == 0) return {};
  QUADRANT_TRY(const std::vector<double> values, to_doubles(scores));
  const std::size_t classes = values.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    if (labels[row] < 0) continue;
    if (static_cast<std::uint64_t>(labels[row]) >= classes) {
      return fail(ErrorCode::usage, fmt::format("label {}, where the scores are of classes 0 to {}",
                                                labels[row], classes - 1));
    }
    const std::size_t above = classes_above(std::span(values).subspan(row * classes, classes),
                                            static_cast<std::size_t>(labels[row]));
    ++score.rows;
    if (above < 1) ++score.top1;
    if (above < 5) ++score.top5;
  }
  return {};
}

}  // namespace quadrant::inline v0
