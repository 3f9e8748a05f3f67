#include "numerics/row_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {
namespace {

// That all rows go through before the next: as many rows of the moments stay in the cache.
constexpr std::size_t columns_swept = 16;
constexpr int most_rescalings = 2;
// A change gains that much of what it changes at least: less may be an error of rounding.
constexpr double least_gain = 1e-9;

// Whether the error falls, by change * (2 * gradient - change * own).
bool gains(double change, double gradient, double own) noexcept {
  return change * (2 * gradient - change * own) > least_gain * change * change * own;
}

// Takes the best scale of a group that can be stored, if it gains, and returns what it has changed
// by. `along`: the gradient along the levels of the codes; `own`: their moment.
double changed_scale(CodeGrid& grid, double along, double own,
                     const std::function<float(double)>& rounded) {
  if (!(own > 0) || grid.is_constant()) return 0;
  const float scale = rounded(static_cast<double>(grid.scale) + along / own);
  const double change = static_cast<double>(scale) - static_cast<double>(grid.scale);
  const bool is_possible = scale != 0 && (scale < 0) == (grid.scale < 0);
  if (!is_possible || !gains(change, along, own)) return 0;
  grid.scale = scale;
  return change;
}

std::vector<double> transposed(std::span<const double> from, std::size_t rows) {
  constexpr std::size_t side = 8;  // a line of the cache
  const std::size_t columns = from.size() / rows;
  std::vector<double> to(from.size());
  for (std::size_t top = 0; top < rows; top += side) {
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t row = top; row < std::min(top + side, rows); ++row) {
        to[column * rows + row] = from[row * columns + column];
      }
    }
  }
  return to;
}

class Descent {
 public:
  Descent(RowRounder& rows, std::vector<double> products)
      : rows_(rows), n_(rows.matrix.columns), gradients_(std::move(products)) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const double less = rows.matrix.shrinkage * rows.matrix.moment(i / rows.rows);
      gradients_[i] = (1 - rows.matrix.shrinkage) * gradients_[i] +
                      less * (rows.weights[i] - rows.now.reals[i]);
    }
    gradients_ = transposed(gradients_, n_);
    find_reach();
  }

  std::vector<double> run(int most_sweeps, const std::function<float(double)>& rounded);

 private:
  void find_reach();
  /// Whether something changed.
  bool sweep_row(std::size_t row, std::size_t first, std::size_t end);
  /// Goes through `rows`, and leaves those in which something changed.
  void sweep_codes(std::vector<std::size_t>& rows);
  /// e M of the columns of a group, [rows, columns of the group], for errors e that are in this
  /// group alone.
  [[nodiscard]] std::vector<double> products_within(std::size_t block,
                                                    std::span<const double> errors) const;
  /// Adds e E[x x^T] of such errors to the gradients.
  void add_products(std::size_t block, std::span<const double> errors);
  void sweep_scale(std::size_t block, const std::function<float(double)>& rounded,
                   std::vector<std::uint8_t>& has_changed);
  /// Of all rows; returns those in which something changed.
  std::vector<std::size_t> sweep_scales(const std::function<float(double)>& rounded);
  [[nodiscard]] std::vector<double> errors() const;

  RowRounder& rows_;
  std::size_t n_ = 0;
  std::vector<double> gradients_;  ///< e M, [rows, columns]
  std::vector<double> reach_;      ///< [rows, columns]: smaller gradients change no code
};

void Descent::find_reach() {
  constexpr double part = 0.49;  // half of the way to the next, and what rounding may add
  reach_.resize(gradients_.size());
  for (std::size_t row = 0; row < rows_.rows; ++row) {
    for (std::size_t column = 0; column < n_; ++column) {
      const CodeGrid& grid = rows_.grid(row, column);
      const double own = rows_.matrix.moment(column);
      const bool is_free = own > 0 && !grid.is_constant();
      reach_[row * n_ + column] =
          is_free ? part * own * grid.least_step() : std::numeric_limits<double>::infinity();
    }
  }
}

bool Descent::sweep_row(std::size_t row, std::size_t first, std::size_t end) {
  double* const gradients = gradients_.data() + row * n_;
  const double* const reach = reach_.data() + row * n_;
  bool has_changed = false;
  for (std::size_t column = first; column < end; ++column) {
    if (std::fabs(gradients[column]) <= reach[column]) continue;
    const std::size_t at = column * rows_.rows + row;
    const double own = rows_.matrix.moment(column);
    double& real = rows_.now.reals[at];
    const CodedReal nearest = rows_.grid(row, column).nearest(real + gradients[column] / own);
    const double change = nearest.real - real;
    if (!gains(change, gradients[column], own)) continue;
    rows_.now.codes[at] = nearest.code;
    real = nearest.real;
    gradients[column] -= change * own * rows_.matrix.shrinkage;
    const double less = -change * (1 - rows_.matrix.shrinkage);
    kernels::add_product({.a = &less,
                          .a_row = 1,
                          .b = rows_.matrix.moments.data() + column * n_,
                          .b_row = n_,
                          .out = gradients,
                          .out_row = n_,
                          .rows = 1,
                          .inner = 1,
                          .columns = n_});
    has_changed = true;
  }
  return has_changed;
}

void Descent::sweep_codes(std::vector<std::size_t>& rows) {
  std::vector<std::uint8_t> has_changed(rows_.rows);
  for (std::size_t first = 0; first < n_; first += columns_swept) {
    const std::size_t end = std::min(first + columns_swept, n_);
    for (const std::size_t row : rows) {
      if (sweep_row(row, first, end)) has_changed[row] = 1;
    }
  }
  std::erase_if(rows, [&](std::size_t row) { return has_changed[row] == 0; });
}

std::vector<double> Descent::products_within(std::size_t block,
                                             std::span<const double> errors) const {
  const std::vector<std::uint32_t>& columns = rows_.blocks.columns[block];
  const std::size_t size = columns.size();
  const bool are_neighbours = columns.back() - columns.front() + 1 == size;
  const double* moments = rows_.matrix.moments.data() + columns.front() * (n_ + 1);
  std::vector<double> gathered(are_neighbours ? 0 : size * size);
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    gathered[i] = rows_.matrix.moments[columns[i / size] * n_ + columns[i % size]];
  }
  std::vector<double> products(errors.size());
  kernels::add_product({.a = errors.data(),
                        .a_row = size,
                        .b = are_neighbours ? moments : gathered.data(),
                        .b_row = are_neighbours ? n_ : size,
                        .out = products.data(),
                        .out_row = size,
                        .rows = rows_.rows,
                        .inner = size,
                        .columns = size});
  for (std::size_t i = 0; i < products.size(); ++i) {
    const double own = rows_.matrix.moment(columns[i % size]);
    products[i] =
        (1 - rows_.matrix.shrinkage) * products[i] + rows_.matrix.shrinkage * own * errors[i];
  }
  return products;
}

void Descent::add_products(std::size_t block, std::span<const double> errors) {
  const std::vector<std::uint32_t>& columns = rows_.blocks.columns[block];
  for (std::size_t first = 0; first < columns.size();) {
    std::size_t end = first + 1;  // of neighbours
    while (end < columns.size() && columns[end] == columns[end - 1] + 1) ++end;
    kernels::add_product({.a = errors.data() + first,
                          .a_row = columns.size(),
                          .b = rows_.matrix.moments.data() + columns[first] * n_,
                          .b_row = n_,
                          .out = gradients_.data(),
                          .out_row = n_,
                          .rows = rows_.rows,
                          .inner = end - first,
                          .columns = n_});
    first = end;
  }
}

void Descent::sweep_scale(std::size_t block, const std::function<float(double)>& rounded,
                          std::vector<std::uint8_t>& has_changed) {
  const std::vector<std::uint32_t>& columns = rows_.blocks.columns[block];
  const std::size_t size = columns.size();
  std::vector<double> levels(rows_.rows * size);  // what codes stand for before scales
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t row = 0; row < rows_.rows; ++row) {
      const CodeGrid& grid = rows_.grids[block * rows_.rows + row];
      levels[row * size + i] =
          static_cast<double>(grid.level(rows_.now.codes[columns[i] * rows_.rows + row]));
    }
  }
  const std::vector<double> products = products_within(block, levels);
  std::vector<double> within(levels.size());  // gradients of the group
  for (std::size_t row = 0; row < rows_.rows; ++row) {
    CodeGrid& grid = rows_.grids[block * rows_.rows + row];
    const double* const gradients = gradients_.data() + row * n_;
    double along = 0;
    double own = 0;
    for (std::size_t i = 0; i < size; ++i) {
      along += levels[row * size + i] * gradients[columns[i]];
      own += levels[row * size + i] * products[row * size + i];
    }
    const double change = changed_scale(grid, along, own, rounded);
    if (change != 0) has_changed[row] = 1;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = row * size + i;
      within[at] = gradients[columns[i]] - change * products[at];
      rows_.now.reals[columns[i] * rows_.rows + row] = grid.real(static_cast<float>(levels[at]));
      levels[at] *= -change * (1 - rows_.matrix.shrinkage);
    }
  }
  if (size < n_) add_products(block, levels);
  for (std::size_t i = 0; i < within.size(); ++i) {
    gradients_[i / size * n_ + columns[i % size]] = within[i];
  }
}

std::vector<std::size_t> Descent::sweep_scales(const std::function<float(double)>& rounded) {
  std::vector<std::uint8_t> has_changed(rows_.rows);
  for (std::size_t block = 0; block < rows_.blocks.columns.size(); ++block) {
    sweep_scale(block, rounded, has_changed);
  }
  find_reach();
  std::vector<std::size_t> rows(rows_.rows);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::erase_if(rows, [&](std::size_t row) { return has_changed[row] == 0; });
  return rows;
}

std::vector<double> Descent::errors() const {
  std::vector<double> sums(rows_.rows);
  const std::vector<double> gradients = transposed(gradients_, rows_.rows);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    sums[i % rows_.rows] += gradients[i] * (rows_.weights[i] - rows_.now.reals[i]);
  }
  return rows_.measured(std::move(sums), 0, rows_.now.reals);
}

std::vector<double> Descent::run(int most_sweeps, const std::function<float(double)>& rounded) {
  std::vector<std::size_t> rows(rows_.rows);  // in which there may be something left
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  int rescalings = 0;
  for (int sweep = 0; sweep < most_sweeps && !rows.empty(); ++sweep) {
    sweep_codes(rows);
    if (rows.empty() && rounded && rescalings++ < most_rescalings) rows = sweep_scales(rounded);
  }
  return errors();
}

}  // namespace

std::vector<double> descend(RowRounder& rows, std::vector<double> products, int most_sweeps,
                            const std::function<float(double)>& rounded) {
  return Descent(rows, std::move(products)).run(most_sweeps, rounded);
}

}  // namespace quadrant::inline v0
