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
        if (!grid.is_constant()) {
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
      if (change == 0) continue;
      // The error becomes less by change * (2 * gradient - change * own).
      if (change * (2 * gradients[at] - change * own) <= least_gain * change * change * own) {
        continue;
      }
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

std::vector<std::size_t> RowRounder::sweep_scales(std::vector<double>& gradients,
                                                  const std::function<float(double)>& rounded) {
  const std::size_t n = matrix_.columns;
  std::vector<std::uint8_t> has_changed(rows_);
  std::vector<double> moments;
  std::vector<double> levels;
  std::vector<double> product;
  for (std::size_t block = 0; block < matrix_.blocks.size(); ++block) {
    const std::vector<std::uint32_t>& columns = matrix_.blocks[block];
    const std::size_t size = columns.size();
    moments.resize(size * n);
    for (std::size_t i = 0; i < size; ++i) {
      std::copy_n(matrix_.moments.data() + columns[i] * n, n, moments.data() + i * n);
    }
    levels.assign(rows_ * size, 0);
    for (std::size_t row = 0; row < rows_; ++row) {
      const CodeGrid& grid = grids[row * matrix_.blocks.size() + block];
      for (std::size_t i = 0; i < size; ++i) {
        levels[row * size + i] = static_cast<double>(grid.level(now.codes[row * n + columns[i]]));
      }
    }
    product.assign(rows_ * n, 0);
    kernels::add_product({.a = levels.data(),
                          .a_row = size,
                          .b = moments.data(),
                          .b_row = n,
                          .out = product.data(),
                          .out_row = n,
                          .rows = rows_,
                          .inner = size,
                          .columns = n});
    for (double& number : product) number *= 1 - matrix_.shrinkage;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t i = 0; i < size; ++i) {
        const double own = moments[i * n + columns[i]];
        product[row * n + columns[i]] += matrix_.shrinkage * own * levels[row * size + i];
      }
      CodeGrid& grid = grids[row * matrix_.blocks.size() + block];
      double along = 0;
      double own = 0;
      for (std::size_t i = 0; i < size; ++i) {
        along += levels[row * size + i] * gradients[row * n + columns[i]];
        own += levels[row * size + i] * product[row * n + columns[i]];
      }
      if (!(own > 0) || grid.is_constant()) continue;
      const float scale = rounded(static_cast<double>(grid.scale) + along / own);
      const double change = static_cast<double>(scale) - static_cast<double>(grid.scale);
      if (change == 0 || scale == 0 || (scale < 0) != (grid.scale < 0)) continue;
      if (change * (2 * along - change * own) <= least_gain * change * change * own) continue;
      grid.scale = scale;
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t at = row * n + columns[i];
        now.reals[at] = grid.real(grid.level(now.codes[at]));
      }
      for (std::size_t i = 0; i < n; ++i) gradients[row * n + i] -= change * product[row * n + i];
      has_changed[row] = 1;
    }
  }
  std::vector<std::size_t> rows(rows_);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::erase_if(rows, [&](std::size_t row) { return has_changed[row] == 0; });
  return rows;
}

bool RowRounder::descend(std::vector<double> products, int most_sweeps,
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
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    sweep_codes(gradients, rows);
    if (rows.empty() && rounded && rescalings++ < most_rescalings) {
      rows = sweep_scales(gradients, rounded);
    }
    if (rows.empty()) return true;
  }
  return false;
}

}  // namespace quadrant::inline v0
