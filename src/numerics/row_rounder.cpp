#include "numerics/row_rounder.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t columns_at_once = 64;  // that feedback goes through before all others hear
// A change gains that much of what it changes at least: less may be an error of rounding.
constexpr double least_gain = 1e-9;

// Whether the error falls, by change * (2 * gradient - change * own).
bool gains(double change, double gradient, double own) noexcept {
  return change * (2 * gradient - change * own) > least_gain * change * change * own;
}

}  // namespace

RowRounder::Errors RowRounder::errors(std::span<const double> reals) const {
  const std::size_t n = matrix_.columns;
  std::vector<double> difference(rows_ * n);
  std::ranges::transform(weights, reals, difference.begin(), std::minus<>());
  Errors found{std::vector<double>(rows_ * n), std::vector<double>(rows_)};
  kernels::add_product({.a = difference.data(),
                        .a_row = n,
                        .b = matrix_.moments.data(),
                        .b_row = n,
                        .out = found.products.data(),
                        .out_row = n,
                        .rows = rows_,
                        .inner = n,
                        .columns = n});
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
      found.sums[row] += difference[i] * found.products[i];
    }
  }
  return found;
}

RowRounder::Codes RowRounder::feedback() const {
  const std::size_t n = matrix_.columns;
  Codes found = now;
  std::vector<double> errors(rows_ * n);  // by the order of the factor
  std::vector<double> made_up(rows_ * n);
  for (std::size_t end = n; end > 0;) {
    const std::size_t first = end - std::min(columns_at_once, end);
    for (std::size_t place = end; place-- > first;) {
      const std::size_t column = matrix_.order[place];
      const double* const factor = matrix_.factor.data() + place * n;
      for (std::size_t row = 0; row < rows_; ++row) {
        const std::size_t at = row * n + column;
        const CodeGrid& grid = this->grid(row, column);
        const bool has_inputs = matrix_.moments[column * n + column] > 0;
        if (has_inputs && !grid.is_constant()) {
          const double wanted = weights[at] + made_up[row * n + place] / factor[place];
          const CodedReal nearest = grid.nearest(wanted);
          found.codes[at] = nearest.code;
          found.reals[at] = nearest.real;
        }
        const double error = weights[at] - found.reals[at];
        errors[row * n + place] = error;
        double* const others = made_up.data() + row * n;
        for (std::size_t i = first; i < place; ++i) others[i] += error * factor[i];
      }
    }
    kernels::add_product({.a = errors.data() + first,
                          .a_row = n,
                          .b = matrix_.factor.data() + first * n,
                          .b_row = n,
                          .out = made_up.data(),
                          .out_row = n,
                          .rows = rows_,
                          .inner = end - first,
                          .columns = first});
    end = first;
  }
  return found;
}

void RowRounder::take(std::size_t row, const Codes& codes) {
  const std::size_t n = matrix_.columns;
  const auto at = static_cast<std::ptrdiff_t>(row * n);
  std::copy_n(codes.codes.begin() + at, n, now.codes.begin() + at);
  std::copy_n(codes.reals.begin() + at, n, now.reals.begin() + at);
}

void RowRounder::sweep_codes(std::vector<double>& gradients, std::vector<std::size_t>& rows) {
  const std::size_t n = matrix_.columns;
  std::vector<std::uint8_t> has_changed(rows_);
  for (std::size_t column = 0; column < n; ++column) {
    const double* const moments = matrix_.moments.data() + column * n;
    const double own = moments[column];
    if (!(own > 0)) continue;
    for (const std::size_t row : rows) {
      const std::size_t at = row * n + column;
      const CodeGrid& grid = this->grid(row, column);
      if (grid.is_constant()) continue;
      const CodedReal nearest = grid.nearest(now.reals[at] + gradients[at] / own);
      const double change = nearest.real - now.reals[at];
      if (!gains(change, gradients[at], own)) continue;
      now.codes[at] = nearest.code;
      now.reals[at] = nearest.real;
      gradients[at] -= change * own * matrix_.shrinkage;
      const double less = -change * (1 - matrix_.shrinkage);
      kernels::add_product({.a = &less,
                            .a_row = 1,
                            .b = moments,
                            .b_row = n,
                            .out = gradients.data() + row * n,
                            .out_row = n,
                            .rows = 1,
                            .inner = 1,
                            .columns = n});
      has_changed[row] = 1;
    }
  }
  std::erase_if(rows, [&](std::size_t row) { return has_changed[row] == 0; });
}

RowRounder::BlockMoments RowRounder::moments_of(std::size_t block) const {
  const std::size_t n = matrix_.columns;
  const std::vector<std::uint32_t>& columns = blocks_.columns[block];
  const std::size_t size = columns.size();
  std::vector<double> moments(size * n);
  for (std::size_t i = 0; i < size; ++i) {
    std::copy_n(matrix_.moments.data() + columns[i] * n, n, moments.data() + i * n);
  }
  BlockMoments made{std::vector<double>(rows_ * size), std::vector<double>(rows_ * n)};
  for (std::size_t row = 0; row < rows_; ++row) {
    const CodeGrid& grid = grids[row * blocks_.columns.size() + block];
    for (std::size_t i = 0; i < size; ++i) {
      made.levels[row * size + i] =
          static_cast<double>(grid.level(now.codes[row * n + columns[i]]));
    }
  }
  kernels::add_product({.a = made.levels.data(),
                        .a_row = size,
                        .b = moments.data(),
                        .b_row = n,
                        .out = made.products.data(),
                        .out_row = n,
                        .rows = rows_,
                        .inner = size,
                        .columns = n});
  for (double& number : made.products) number *= 1 - matrix_.shrinkage;
  for (std::size_t i = 0; i < size; ++i) {
    const double own = matrix_.shrinkage * moments[i * n + columns[i]];
    for (std::size_t row = 0; row < rows_; ++row) {
      made.products[row * n + columns[i]] += own * made.levels[row * size + i];
    }
  }
  return made;
}

std::vector<std::size_t> RowRounder::sweep_scales(std::vector<double>& gradients,
                                                  const std::function<float(double)>& rounded) {
  const std::size_t n = matrix_.columns;
  std::vector<std::uint8_t> has_changed(rows_);
  for (std::size_t block = 0; block < blocks_.columns.size(); ++block) {
    const std::vector<std::uint32_t>& columns = blocks_.columns[block];
    const auto [levels, products] = moments_of(block);
    for (std::size_t row = 0; row < rows_; ++row) {
      CodeGrid& grid = grids[row * blocks_.columns.size() + block];
      const double* const of_row = levels.data() + row * columns.size();
      double along = 0;
      double own = 0;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        along += of_row[i] * gradients[row * n + columns[i]];
        own += of_row[i] * products[row * n + columns[i]];
      }
      if (!(own > 0) || grid.is_constant()) continue;
      const float scale = rounded(static_cast<double>(grid.scale) + along / own);
      const double change = static_cast<double>(scale) - static_cast<double>(grid.scale);
      const bool is_possible = scale != 0 && (scale < 0) == (grid.scale < 0);
      if (!is_possible || !gains(change, along, own)) continue;
      grid.scale = scale;
      for (const std::uint32_t column : columns) {
        const std::size_t at = row * n + column;
        now.reals[at] = grid.real(grid.level(now.codes[at]));
      }
      for (std::size_t i = 0; i < n; ++i) gradients[row * n + i] -= change * products[row * n + i];
      has_changed[row] = 1;
    }
  }
  std::vector<std::size_t> rows(rows_);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::erase_if(rows, [&](std::size_t row) { return has_changed[row] == 0; });
  return rows;
}

void RowRounder::descend(std::vector<double> products, int most_sweeps,
                         const std::function<float(double)>& rounded) {
  constexpr int most_rescalings = 2;
  const std::size_t n = matrix_.columns;
  std::vector<double>& gradients = products;  // by the estimate
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double own = matrix_.moments[i % n * n + i % n];
    gradients[i] = (1 - matrix_.shrinkage) * gradients[i] +
                   matrix_.shrinkage * own * (weights[i] - now.reals[i]);
  }
  std::vector<std::size_t> rows(rows_);  // in which there may be something left
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  int rescalings = 0;
  for (int sweep = 0; sweep < most_sweeps && !rows.empty(); ++sweep) {
    sweep_codes(gradients, rows);
    if (rows.empty() && rounded && rescalings++ < most_rescalings) {
      rows = sweep_scales(gradients, rounded);
    }
  }
}

}  // namespace quadrant::inline v0
