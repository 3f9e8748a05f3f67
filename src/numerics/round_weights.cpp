#include "quadrant/numerics/round_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "numerics/code_grid.hpp"
#include "numerics/float_products.hpp"
#include "numerics/rounded_matrix.hpp"
#include "numerics/row_descent.hpp"
#include "numerics/row_feedback.hpp"
#include "numerics/row_rounder.hpp"
#include "numerics/scale_steps.hpp"
#include "numerics/weighted_codes.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t rows_at_once = RowRounder::most_rows;

// Errors that are less by as much are less, though some are computed in single precision.
constexpr double least_part = 1e-6;

/// Rows of one matrix.
struct RowRange {
  std::size_t matrix = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

/// An error, and how far off it may be: 0, if it was computed in double.
struct Measured {
  double error = 0;
  double doubt = 0;
};

/// What became of a row.
struct RowOutcome {
  Measured now;
  double nearest = 0;  ///< the error that it began with
  bool is_weighted = false;
  bool is_fed_back = false;
  bool is_descended = false;
};

class WeightRounder {
 public:
  WeightRounder(std::span<const float> values, const Shape& shape, const NumberFormat& format,
                const SecondMoments& moments, const RoundWeightsOptions& options)
      : values_(values),
        shape_(shape),
        format_(format),
        moments_(moments),
        layout_(moments.layout()),
        options_(options) {}

  Expected<RoundedWeights> run(Encoded& encoded);

 private:
  [[nodiscard]] std::size_t element(const RowRange& rows, std::size_t row,
                                    std::size_t column) const noexcept {
    return layout_.element(rows.matrix, rows.first + row, column);
  }
  [[nodiscard]] std::size_t place(const RowRange& rows, std::size_t row) const noexcept {
    return rows.matrix * layout_.rows.size() + rows.first + row;
  }
  [[nodiscard]] RowOutcome& outcome(const RowRange& rows, std::size_t row) noexcept {
    return outcomes_[place(rows, row)];
  }

  [[nodiscard]] Expected<void> find_blocks(const CodeGrids& grids);
  /// Takes the rows of `other` that have less error, or all of them.
  [[nodiscard]] Expected<void> take_better(Encoded& encoded, const Encoded& other,
                                           const CodeGrids& grids);
  void take_row(Encoded& encoded, const Encoded& other, const CodeGrids& grids,
                const RowRange& one) const;

  template <class Body>
  void for_rows(std::size_t matrix, Body body) const;
  /// `body(element, row, place)` for all of the rows: where it is in the weight, and in matrices
  /// of [columns, rows].
  template <class Body>
  void for_elements(const RowRange& rows, Body body) const;
  /// Such a matrix of numbers of the weight.
  [[nodiscard]] std::vector<float> gathered(const RowRange& rows,
                                            std::span<const float> numbers) const;
  [[nodiscard]] RowRounder rounder(const RowRange& rows, const Encoded& encoded,
                                   const CodeGrids& grids) const;
  void load_matrix(std::size_t matrix);
  [[nodiscard]] Expected<std::vector<Measured>> measure(const Encoded& encoded);
  /// Of codes that stand for `reals`, whose errors are `found` with six digits: in double wherever
  /// these do not tell whether they are less than those of `before`, which rows have had so far.
  [[nodiscard]] std::vector<Measured> surely(const RowRange& rows, const RowRounder& made,
                                             std::span<const float> before,
                                             std::span<const double> found,
                                             std::span<const float> reals);
  [[nodiscard]] std::function<float(double)> rounded_scale() const;
  void round_rows(const RowRange& rows, Encoded& encoded, CodeGrids& grids);
  /// The rows for which `is_taken` is not 0.
  void store(const RowRange& rows, std::span<const std::uint8_t> is_taken, const RowRounder& made,
             Encoded& encoded, CodeGrids& grids) const;

  std::span<const float> values_;
  const Shape& shape_;
  const NumberFormat& format_;
  const SecondMoments& moments_;
  const WeightMatrices& layout_;
  const RoundWeightsOptions& options_;

  bool owns_scales_ = false;       ///< whether each row has scales that no other has
  std::vector<RowBlocks> blocks_;  ///< of each matrix
  std::size_t loaded_ = std::numeric_limits<std::size_t>::max();  ///< which matrix is
  RoundedMatrix matrix_;                                          ///< the one that is rounded
  std::vector<RowOutcome> outcomes_;                              ///< of each row of each matrix
};

Executor& or_serial(Executor* executor) {
  static SerialExecutor serial;
  return executor != nullptr ? *executor : serial;
}

template <class Body>
void WeightRounder::for_rows(std::size_t matrix, Body body) const {
  const std::size_t rows = layout_.rows.size();
  or_serial(options_.executor)
      .parallel_for((rows + rows_at_once - 1) / rows_at_once, [&](std::size_t part) {
        const std::size_t first = part * rows_at_once;
        body(RowRange{matrix, first, std::min(rows_at_once, rows - first)});
      });
}

template <class Body>
void WeightRounder::for_elements(const RowRange& rows, Body body) const {
  constexpr std::size_t columns_at_once = 16;  // a line of the cache
  const std::size_t n = layout_.columns.size();
  for (std::size_t first = 0; first < n; first += columns_at_once) {
    const std::size_t end = std::min(first + columns_at_once, n);
    for (std::size_t row = 0; row < rows.count; ++row) {
      for (std::size_t column = first; column < end; ++column) {
        body(element(rows, row, column), row, column * rows.count + row);
      }
    }
  }
}

std::vector<float> WeightRounder::gathered(const RowRange& rows,
                                           std::span<const float> numbers) const {
  std::vector<float> found(layout_.columns.size() * rows.count);
  for_elements(rows, [&](std::size_t element, std::size_t, std::size_t place) {
    found[place] = numbers[element];
  });
  return found;
}

Expected<void> WeightRounder::find_blocks(const CodeGrids& grids) {
  const std::size_t columns = layout_.columns.size();
  const std::vector<std::uint32_t> groups = grids.groups();
  std::size_t of_rows = 0;
  for (std::size_t matrix = 0; matrix < layout_.matrices.size(); ++matrix) {
    RowBlocks& blocks = blocks_.emplace_back();
    std::map<std::size_t, std::uint32_t> found;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t group = groups[layout_.element(matrix, 0, column)];
      const auto [at, is_new] = found.try_emplace(group, static_cast<std::uint32_t>(found.size()));
      if (is_new) blocks.columns.emplace_back();
      blocks.of_column.push_back(at->second);
      blocks.columns[at->second].push_back(static_cast<std::uint32_t>(column));
    }
    of_rows += blocks.columns.size() * layout_.rows.size();
    for (std::size_t row = 1; row < layout_.rows.size(); ++row) {
      for (const auto& block : blocks.columns) {
        const std::size_t group = groups[layout_.element(matrix, row, block.front())];
        for (const std::uint32_t column : block) {
          if (groups[layout_.element(matrix, row, column)] == group) continue;
          return fail(ErrorCode::impossible,
                      "the groups that share a scale lie differently in the rows of the weight");
        }
      }
    }
  }
  owns_scales_ = format_.scales.size() == 1 && format_.offset != Offset::minimum &&
                 !std::holds_alternative<StoredTable>(format_.code) &&
                 grids.group_count() == of_rows;
  return {};
}

RowRounder WeightRounder::rounder(const RowRange& rows, const Encoded& encoded,
                                  const CodeGrids& grids) const {
  const RowBlocks& blocks = blocks_[rows.matrix];
  RowRounder made{matrix_, blocks, rows.count, {}, {}, {}};
  for (const auto& block : blocks.columns) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      made.grids.push_back(grids.grid(grids.group_of(element(rows, row, block.front()))));
    }
  }
  made.weights = gathered(rows, values_);
  made.now = {std::vector<std::uint32_t>(made.weights.size()),
              std::vector<float>(made.weights.size())};
  for_elements(rows, [&](std::size_t element, std::size_t, std::size_t place) {
    made.now.codes[place] = code_at(encoded.codes, element, grids.width());
  });
  for (std::size_t column = 0; column < layout_.columns.size(); ++column) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      const CodeGrid& grid = made.grid(row, column);
      const std::size_t place = column * rows.count + row;
      made.now.reals[place] = grid.real(grid.level(made.now.codes[place]));
    }
  }
  return made;
}

void WeightRounder::load_matrix(std::size_t matrix) {
  if (loaded_ == matrix) return;
  loaded_ = matrix;
  matrix_ = RoundedMatrix();  // there is no room for two
  matrix_ = RoundedMatrix(moments_, matrix, options_.shrinkage);
}

Expected<std::vector<Measured>> WeightRounder::measure(const Encoded& encoded) {
  const std::size_t n = layout_.columns.size();
  std::vector<float> reals(values_.size());
  QUADRANT_CHECK(decode(encoded, shape_, format_, reals));
  std::vector<Measured> errors(outcomes_.size());
  for (std::size_t matrix = 0; matrix < layout_.matrices.size(); ++matrix) {
    load_matrix(matrix);
    for_rows(matrix, [&](const RowRange& rows) {
      const std::vector<float> weights = gathered(rows, values_);
      std::vector<float> differences = gathered(rows, reals);
      const std::vector<double> units = units_of(weights, rows.count);
      std::vector<double> inverses(rows.count);
      std::ranges::transform(units, inverses.begin(), [](double unit) { return 1 / unit; });
      std::vector<double> doubts(rows.count);
      for (std::size_t column = 0; column < n; ++column) {
        const double counted = least_part * matrix_.moment(column);
        for (std::size_t row = 0; row < rows.count; ++row) {
          float& difference = differences[column * rows.count + row];
          const double error = static_cast<double>(weights[column * rows.count + row]) -
                               static_cast<double>(difference);
          difference = static_cast<float>(error * inverses[row]);
          doubts[row] += counted * error * error;
        }
      }
      const std::vector<double> sums =
          quadratic_forms(matrix_.in_units, matrix_.section, differences, rows.count);
      for (std::size_t row = 0; row < rows.count; ++row) {
        errors[place(rows, row)] = {sums[row] * matrix_.unit * units[row] * units[row],
                                    doubts[row]};
      }
    });
  }
  return errors;
}

void WeightRounder::take_row(Encoded& encoded, const Encoded& other, const CodeGrids& grids,
                             const RowRange& one) const {
  const std::size_t width = grids.width();
  for (const auto& block : blocks_[one.matrix].columns) {
    const std::size_t group = grids.group_of(element(one, 0, block.front()));
    encoded.scales.back()[group] = other.scales.back()[group];
    if (!encoded.offsets.empty()) encoded.offsets.back()[group] = other.offsets.back()[group];
    for (const std::uint32_t column : block) {
      const std::size_t at = element(one, 0, column);
      set_code(encoded.codes, at, width, code_at(other.codes, at, width));
    }
  }
}

Expected<void> WeightRounder::take_better(Encoded& encoded, const Encoded& other,
                                          const CodeGrids& grids) {
  const auto is_too_small = [&](float scale) { return std::fabs(scale) < options_.least_scale; };
  if (!other.scales.empty() && std::ranges::any_of(other.scales.back(), is_too_small)) return {};
  QUADRANT_TRY(const std::vector<Measured> errors, measure(other));
  double gain = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto [error, doubt] = outcomes_[i].now;
    gain += error - doubt - errors[i].error - errors[i].doubt;
  }
  if (!owns_scales_ && !(gain > 0)) return {};
  if (!owns_scales_) encoded = other;
  for (std::size_t matrix = 0; matrix < layout_.matrices.size(); ++matrix) {
    for (std::size_t row = 0; row < layout_.rows.size(); ++row) {
      const RowRange one{matrix, row, 1};
      const Measured& now = errors[place(one, 0)];
      RowOutcome& so_far = outcome(one, 0);
      const bool is_better = now.error + now.doubt < so_far.now.error - so_far.now.doubt;
      if (owns_scales_ && !is_better) continue;
      if (owns_scales_) take_row(encoded, other, grids, one);
      so_far = {.now = now, .nearest = so_far.nearest, .is_weighted = true};
    }
  }
  return {};
}

// What the level of scales can hold, where it is one that codes of a row alone have.
std::function<float(double)> WeightRounder::rounded_scale() const {
  if (!owns_scales_) return {};
  return
      [steps = ScaleSteps(format_.scales.back(), 1), least = options_.least_scale](double scale) {
        const float magnitude = std::max(steps.number(steps.nearest(std::fabs(scale))), least);
        return scale < 0 ? -magnitude : magnitude;
      };
}

std::vector<Measured> WeightRounder::surely(const RowRange& rows, const RowRounder& made,
                                            std::span<const float> before,
                                            std::span<const double> found,
                                            std::span<const float> reals) {
  constexpr double most_doubt = 1e-4;  // of an error
  const std::vector<double> doubts = made.doubts(reals, least_part);
  std::vector<std::uint8_t> has_changed(rows.count);
  for (std::size_t i = 0; i < reals.size(); i += rows.count) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      has_changed[row] |= static_cast<std::uint8_t>(reals[i + row] != before[i + row]);
    }
  }
  std::vector<Measured> errors(rows.count);
  bool is_in_doubt = false;
  for (std::size_t row = 0; row < rows.count; ++row) {
    const Measured& so_far = outcome(rows, row).now;
    errors[row] = so_far;
    if (has_changed[row] == 0) continue;
    errors[row] = {found[row], doubts[row]};
    const double between = std::fabs(found[row] - so_far.error);
    is_in_doubt = is_in_doubt || doubts[row] > most_doubt * found[row] ||
                  between < doubts[row] + so_far.doubt;
  }
  if (!is_in_doubt) return errors;
  const std::vector<double> surely_before = made.errors(before);
  const std::vector<double> surely_now = made.errors(reals);
  for (std::size_t row = 0; row < rows.count; ++row) {
    RowOutcome& so_far = outcome(rows, row);
    so_far.now = {.error = surely_before[row]};
    if (!so_far.is_weighted && !so_far.is_fed_back) so_far.nearest = surely_before[row];
    errors[row] = {.error = surely_now[row]};
  }
  return errors;
}

void WeightRounder::round_rows(const RowRange& rows, Encoded& encoded, CodeGrids& grids) {
  RowRounder made = rounder(rows, encoded, grids);
  std::vector<std::uint8_t> is_better(rows.count);  // than what they had
  const auto keep_better = [&](std::span<const Measured> errors, bool RowOutcome::* mark) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      RowOutcome& so_far = outcome(rows, row);
      is_better[row] = errors[row].error < so_far.now.error * (1 - least_part) ? 1 : 0;
      if (is_better[row] == 0) continue;
      so_far.now = errors[row];
      so_far.*mark = true;
    }
  };
  const FedBack found = feed_back(made);
  keep_better(surely(rows, made, made.now.reals, found.errors, found.codes.reals),
              &RowOutcome::is_fed_back);
  made.take(is_better, found.codes);
  store(rows, is_better, made, encoded, grids);
  if (options_.rounding < Rounding::descent) return;
  const std::vector<float> before = made.now.reals;
  const std::vector<double> descended = descend(made, options_.most_sweeps, rounded_scale());
  keep_better(surely(rows, made, before, descended, made.now.reals), &RowOutcome::is_descended);
  store(rows, is_better, made, encoded, grids);
}

void WeightRounder::store(const RowRange& rows, std::span<const std::uint8_t> is_taken,
                          const RowRounder& made, Encoded& encoded, CodeGrids& grids) const {
  const auto& blocks = blocks_[rows.matrix].columns;
  for (std::size_t block = 0; owns_scales_ && block < blocks.size(); ++block) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (is_taken[row] == 0) continue;
      const std::size_t any = element(rows, row, blocks[block].front());
      grids.scales().back()[grids.group_of(any)] = made.grids[block * rows.count + row].scale;
    }
  }
  for_elements(rows, [&](std::size_t element, std::size_t row, std::size_t place) {
    if (is_taken[row] == 0) return;
    set_code(encoded.codes, element, grids.width(), made.now.codes[place]);
  });
}

Expected<RoundedWeights> WeightRounder::run(Encoded& encoded) {
  RoundedWeights result;
  outcomes_.resize(layout_.matrices.size() * layout_.rows.size());
  result.rows = static_cast<std::int64_t>(outcomes_.size());
  if (outcomes_.empty() || layout_.columns.empty()) return result;
  QUADRANT_TRY(CodeGrids grids, CodeGrids::make(format_, shape_, encoded));
  QUADRANT_CHECK(find_blocks(grids));
  QUADRANT_TRY(const std::vector<Measured> errors, measure(encoded));
  for (std::size_t i = 0; i < errors.size(); ++i) {
    outcomes_[i] = {.now = errors[i], .nearest = errors[i].error};
  }
  if (options_.rounding >= Rounding::weighted) {
    QUADRANT_TRY(const Encoded other,
                 weighted_codes(values_, shape_, format_, moments_, encoded, options_));
    QUADRANT_CHECK(take_better(encoded, other, grids));
    QUADRANT_TRY(grids, CodeGrids::make(format_, shape_, encoded));
  }
  const bool has_feedback = options_.rounding >= Rounding::feedback;
  for (std::size_t matrix = 0; has_feedback && matrix < layout_.matrices.size(); ++matrix) {
    load_matrix(matrix);
    if (!(matrix_.unit > 0)) continue;  // there are no inputs
    matrix_.find_feedback(or_serial(options_.executor));
    for_rows(matrix, [&](const RowRange& rows) { round_rows(rows, encoded, grids); });
  }
  encoded.scales = grids.scales();
  for (const RowOutcome& outcome : outcomes_) {
    result.nearest += outcome.nearest;
    result.error += outcome.now.error;
  }
  result.weighted = std::ranges::count(outcomes_, true, &RowOutcome::is_weighted);
  result.feedback = std::ranges::count(outcomes_, true, &RowOutcome::is_fed_back);
  result.descent = std::ranges::count(outcomes_, true, &RowOutcome::is_descended);
  return result;
}

Expected<void> check_sizes(const WeightMatrices& layout, std::size_t values, const Shape& shape,
                           const NumberFormat& format, const Encoded& encoded) {
  const auto elements = shape.element_count();
  if (!elements || static_cast<std::size_t>(*elements) != values) {
    return fail(ErrorCode::impossible,
                fmt::format("{} values for a tensor of shape {}", values, to_string(shape)));
  }
  const std::size_t width = bit_width(format.code) > 8 ? 2 : 1;
  if (encoded.codes.size() != values * width) {
    return fail(ErrorCode::impossible,
                fmt::format("{} bytes of codes for {} values of {}", encoded.codes.size(), values,
                            to_string(format)));
  }
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (const auto* const places : {&layout.matrices, &layout.rows, &layout.columns}) {
    if (places->empty()) continue;
    const auto [least, most] = std::ranges::minmax(*places);
    first = std::min(first, least);
    last += most;
  }
  const std::size_t count = layout.matrices.size() * layout.rows.size() * layout.columns.size();
  if (first >= 0 && count == values && last < std::max<std::int64_t>(*elements, 1)) return {};
  return fail(ErrorCode::impossible, "the moments are of a weight of another shape");
}

}  // namespace

std::string_view to_string(Rounding rounding) noexcept {
  switch (rounding) {
    case Rounding::nearest:
      return "nearest";
    case Rounding::weighted:
      return "weighted";
    case Rounding::feedback:
      return "feedback";
    case Rounding::descent:
      return "descent";
  }
  return {};
}

Expected<RoundedWeights> round_weights(std::span<const float> values, const Shape& shape,
                                       const NumberFormat& format, const SecondMoments& moments,
                                       Encoded& encoded, const RoundWeightsOptions& options) {
  QUADRANT_CHECK(check_sizes(moments.layout(), values.size(), shape, format, encoded));
  return WeightRounder(values, shape, format, moments, options).run(encoded);
}

}  // namespace quadrant::inline v0
