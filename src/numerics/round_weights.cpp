#include "quadrant/numerics/round_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "numerics/cholesky.hpp"
#include "numerics/code_grid.hpp"
#include "numerics/row_rounder.hpp"
#include "numerics/scale_steps.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t rows_at_once = 64;

// Columns without inputs count a little, so that nothing is chosen at random for them.
constexpr float least_weight = 0.01F;

/// Rows of one matrix.
struct RowRange {
  std::size_t matrix = 0;
  std::size_t first = 0;
  std::size_t count = 0;
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
  [[nodiscard]] std::size_t row_count() const noexcept {
    return layout_.matrices.size() * layout_.rows.size();
  }
  [[nodiscard]] std::size_t element(const RowRange& rows, std::size_t row,
                                    std::size_t column) const noexcept {
    return layout_.element(rows.matrix, rows.first + row, column);
  }
  [[nodiscard]] std::size_t place(const RowRange& rows, std::size_t row) const noexcept {
    return rows.matrix * layout_.rows.size() + rows.first + row;
  }

  void find_blocks(const CodeGrids& grids);
  [[nodiscard]] Expected<Encoded> weighted() const;
  /// Takes the rows of `other` that have less error, or all of them.
  void take_better(Encoded& encoded, const Encoded& other, const CodeGrids& grids);

  template <class Body>
  void for_rows(std::size_t matrix, Body body) const;
  [[nodiscard]] RowRounder rounder(const RowRange& rows, const Encoded& encoded,
                                   const CodeGrids& grids) const;
  void load_matrix(std::size_t matrix, bool with_factor);
  void measure(const Encoded& encoded, const CodeGrids& grids, std::vector<double>& errors);
  void round_rows(const RowRange& rows, Encoded& encoded, CodeGrids& grids);

  std::span<const float> values_;
  const Shape& shape_;
  const NumberFormat& format_;
  const SecondMoments& moments_;
  const WeightMatrices& layout_;
  const RoundWeightsOptions& options_;

  bool owns_scales_ = false;  ///< whether each row has scales that no other has
  RoundedMatrix matrix_;
  std::vector<double> errors_;  ///< of each row of each matrix
  std::vector<std::uint8_t> is_weighted_;
  std::vector<std::uint8_t> is_fed_back_;
  std::vector<std::uint8_t> is_descended_;
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

// The groups of a row are where those of the first row are.
void WeightRounder::find_blocks(const CodeGrids& grids) {
  const std::size_t columns = layout_.columns.size();
  matrix_.columns = columns;
  std::map<std::size_t, std::uint32_t> found;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t group = grids.group_of(layout_.element(0, 0, column));
    const auto [at, is_new] = found.try_emplace(group, static_cast<std::uint32_t>(found.size()));
    if (is_new) matrix_.blocks.emplace_back();
    matrix_.block_of.push_back(at->second);
    matrix_.blocks[at->second].push_back(static_cast<std::uint32_t>(column));
  }
  owns_scales_ = format_.scales.size() == 1 && format_.offset != Offset::minimum &&
                 !std::holds_alternative<StoredTable>(format_.code) &&
                 grids.group_count() == row_count() * matrix_.blocks.size();
}

RowRounder WeightRounder::rounder(const RowRange& rows, const Encoded& encoded,
                                  const CodeGrids& grids) const {
  const std::size_t columns = layout_.columns.size();
  const std::size_t blocks = matrix_.blocks.size();
  RowRounder made(matrix_, rows.count);
  made.weights.resize(rows.count * columns);
  made.now.codes.resize(rows.count * columns);
  made.now.reals.resize(rows.count * columns);
  made.grids.resize(rows.count * blocks);
  for (std::size_t row = 0; row < rows.count; ++row) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t any = element(rows, row, matrix_.blocks[block].front());
      made.grids[row * blocks + block] = grids.grid(grids.group_of(any));
    }
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t at = row * columns + column;
      const std::size_t from = element(rows, row, column);
      const CodeGrid& grid = made.grids[row * blocks + matrix_.block_of[column]];
      made.weights[at] = static_cast<double>(values_[from]);
      made.now.codes[at] = code_at(encoded.codes, from, grids.width());
      made.now.reals[at] = grid.real(grid.level(made.now.codes[at]));
    }
  }
  return made;
}

void WeightRounder::load_matrix(std::size_t matrix, bool with_factor) {
  const std::size_t n = layout_.columns.size();
  matrix_.moments = moments_.mean(matrix);
  const std::vector<double>& moments = matrix_.moments;
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += moments[i * n + i];
  const double mean = n == 0 ? 0 : trace / static_cast<double>(n);
  const auto count = static_cast<double>(std::max<std::int64_t>(moments_.count(matrix), 1));
  matrix_.shrinkage = options_.shrinkage >= 0
                          ? std::min(options_.shrinkage, 1.0)
                          : static_cast<double>(n) / (static_cast<double>(n) + count);
  matrix_.factor.clear();
  if (!with_factor || !(mean > 0)) return;
  matrix_.order.resize(n);
  std::iota(matrix_.order.begin(), matrix_.order.end(), std::size_t{0});
  std::ranges::sort(matrix_.order, {}, [&](std::size_t column) {
    return std::pair(moments[column * n + column], column);
  });
  matrix_.factor.resize(n * n);
  constexpr double damping = 1e-4;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      matrix_.factor[i * n + j] =
          (1 - matrix_.shrinkage) * moments[matrix_.order[i] * n + matrix_.order[j]];
    }
    const std::size_t column = matrix_.order[i];
    matrix_.factor[i * n + i] = moments[column * n + column] + damping * mean;
  }
  factorize(matrix_.factor, n, damping * damping * mean, or_serial(options_.executor));
}

void WeightRounder::measure(const Encoded& encoded, const CodeGrids& grids,
                            std::vector<double>& errors) {
  errors.assign(row_count(), 0);
  for (std::size_t matrix = 0; matrix < layout_.matrices.size(); ++matrix) {
    load_matrix(matrix, false);
    for_rows(matrix, [&](const RowRange& rows) {
      const RowRounder made = rounder(rows, encoded, grids);
      std::ranges::copy(made.errors(made.now.reals).sums,
                        errors.begin() + static_cast<std::ptrdiff_t>(place(rows, 0)));
    });
  }
}

Expected<Encoded> WeightRounder::weighted() const {
  std::vector<float> weights = moments_.diagonal(values_.size());
  double sum = 0;
  for (const float weight : weights) sum += static_cast<double>(weight);
  const auto mean =
      static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(weights.size(), 1)));
  for (float& weight : weights) weight = mean > 0 ? weight / mean + least_weight : 1.0F;
  return encode(values_, shape_, format_, {.weights = weights, .executor = options_.executor});
}

void WeightRounder::take_better(Encoded& encoded, const Encoded& other, const CodeGrids& grids) {
  auto of_other = CodeGrids::make(format_, shape_, other);
  if (!of_other) return;  // it has other scales than `encode` gives
  std::vector<double> errors;
  measure(other, *of_other, errors);
  if (!owns_scales_) {
    const double now = std::accumulate(errors_.begin(), errors_.end(), 0.0);
    if (!(std::accumulate(errors.begin(), errors.end(), 0.0) < now)) return;
    encoded = other;
    errors_ = std::move(errors);
    std::ranges::fill(is_weighted_, std::uint8_t{1});
    return;
  }
  const std::size_t width = grids.width();
  for (std::size_t matrix = 0; matrix < layout_.matrices.size(); ++matrix) {
    for (std::size_t row = 0; row < layout_.rows.size(); ++row) {
      const RowRange one{matrix, row, 1};
      if (!(errors[place(one, 0)] < errors_[place(one, 0)])) continue;
      errors_[place(one, 0)] = errors[place(one, 0)];
      is_weighted_[place(one, 0)] = 1;
      for (const auto& columns : matrix_.blocks) {
        const std::size_t group = grids.group_of(element(one, 0, columns.front()));
        encoded.scales.back()[group] = other.scales.back()[group];
        if (!encoded.offsets.empty()) encoded.offsets.back()[group] = other.offsets.back()[group];
        for (const std::uint32_t column : columns) {
          const std::size_t at = element(one, 0, column);
          set_code(encoded.codes, at, width, code_at(other.codes, at, width));
        }
      }
    }
  }
}

void WeightRounder::round_rows(const RowRange& rows, Encoded& encoded, CodeGrids& grids) {
  RowRounder made = rounder(rows, encoded, grids);
  const std::size_t n = layout_.columns.size();
  std::vector<double> least(rows.count);
  for (std::size_t row = 0; row < rows.count; ++row) least[row] = errors_[place(rows, row)];
  std::vector<std::uint8_t> keeps(rows.count, 1);  // what the row was given

  std::vector<double> products;
  if (!matrix_.factor.empty()) {
    RowRounder::Codes found = made.feedback();
    RowRounder::Errors errors = made.errors(found.reals);
    products = std::move(errors.products);
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (!(errors.sums[row] < least[row])) continue;
      least[row] = errors.sums[row];
      keeps[row] = 0;
      is_fed_back_[place(rows, row)] = 1;
      const auto at = static_cast<std::ptrdiff_t>(row * n);
      std::copy_n(found.codes.begin() + at, n, made.now.codes.begin() + at);
      std::copy_n(found.reals.begin() + at, n, made.now.reals.begin() + at);
    }
  }
  RowRounder best = made;
  if (options_.rounding >= Rounding::descent) {
    std::function<float(double)> rounded;
    if (owns_scales_) {
      rounded = [steps = ScaleSteps(format_.scales.back(), 1)](double scale) {
        const float magnitude = steps.number(steps.nearest(std::fabs(scale)));
        return scale < 0 ? -magnitude : magnitude;
      };
    }
    if (products.empty() || std::ranges::count(keeps, 1) != 0) {
      products = made.errors(made.now.reals).products;
    }
    made.descend(std::move(products), options_.most_sweeps, rounded);
    const std::vector<double> errors = made.errors(made.now.reals).sums;
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (!(errors[row] < least[row])) continue;
      least[row] = errors[row];
      keeps[row] = 0;
      is_descended_[place(rows, row)] = 1;
      const auto at = static_cast<std::ptrdiff_t>(row * n);
      std::copy_n(made.now.codes.begin() + at, n, best.now.codes.begin() + at);
      const std::size_t blocks = matrix_.blocks.size();
      std::copy_n(made.grids.begin() + static_cast<std::ptrdiff_t>(row * blocks), blocks,
                  best.grids.begin() + static_cast<std::ptrdiff_t>(row * blocks));
    }
  }
  for (std::size_t row = 0; row < rows.count; ++row) {
    errors_[place(rows, row)] = least[row];
    if (keeps[row] != 0) continue;
    for (std::size_t block = 0; owns_scales_ && block < matrix_.blocks.size(); ++block) {
      const std::size_t any = element(rows, row, matrix_.blocks[block].front());
      grids.scales().back()[grids.group_of(any)] =
          best.grids[row * matrix_.blocks.size() + block].scale;
    }
    for (std::size_t column = 0; column < n; ++column) {
      set_code(encoded.codes, element(rows, row, column), grids.width(),
               best.now.codes[row * n + column]);
    }
  }
}

Expected<RoundedWeights> WeightRounder::run(Encoded& encoded) {
  RoundedWeights result;
  result.rows = static_cast<std::int64_t>(row_count());
  if (row_count() == 0 || layout_.columns.empty()) return result;
  QUADRANT_TRY(CodeGrids grids, CodeGrids::make(format_, shape_, encoded));
  find_blocks(grids);
  is_weighted_.assign(row_count(), 0);
  is_fed_back_.assign(row_count(), 0);
  is_descended_.assign(row_count(), 0);
  measure(encoded, grids, errors_);
  result.nearest = std::accumulate(errors_.begin(), errors_.end(), 0.0);
  if (options_.rounding >= Rounding::weighted) {
    QUADRANT_TRY(const Encoded other, weighted());
    take_better(encoded, other, grids);
    QUADRANT_TRY(grids, CodeGrids::make(format_, shape_, encoded));
  }
  const bool has_feedback = options_.rounding >= Rounding::feedback;
  for (std::size_t matrix = 0; has_feedback && matrix < layout_.matrices.size(); ++matrix) {
    load_matrix(matrix, true);
    for_rows(matrix, [&](const RowRange& rows) { round_rows(rows, encoded, grids); });
  }
  encoded.scales = grids.scales();
  result.error = std::accumulate(errors_.begin(), errors_.end(), 0.0);
  result.weighted = std::ranges::count(is_weighted_, 1);
  result.feedback = std::ranges::count(is_fed_back_, 1);
  result.descent = std::ranges::count(is_descended_, 1);
  return result;
}

Expected<void> check_layout(const WeightMatrices& layout, std::size_t elements) {
  const auto last = [](const std::vector<std::int64_t>& places) {
    return places.empty() ? 0 : std::ranges::max(places);
  };
  const auto first = [](const std::vector<std::int64_t>& places) {
    return places.empty() ? 0 : std::ranges::min(places);
  };
  const bool fits = first(layout.matrices) >= 0 && first(layout.rows) >= 0 &&
                    first(layout.columns) >= 0 &&
                    last(layout.matrices) + last(layout.rows) + last(layout.columns) <
                        static_cast<std::int64_t>(std::max<std::size_t>(elements, 1));
  if (fits) return {};
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
  QUADRANT_CHECK(check_layout(moments.layout(), values.size()));
  return WeightRounder(values, shape, format, moments, options).run(encoded);
}

}  // namespace quadrant::inline v0
