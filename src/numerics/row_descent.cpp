#include "numerics/row_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "numerics/float_products.hpp"
#include "numerics/kernels/matrix_product.hpp"

namespace quadrant::inline v0 {
namespace {

// That all rows go through before the next: as many rows of the moments stay in the cache.
constexpr std::size_t columns_swept = 16;
constexpr int most_rescalings = 2;
// A change gains that much of what it changes at least: less may be an error of rounding.
constexpr double least_gain = 1e-5;

// Whether the error falls, by change * (2 * gradient - change * own).
bool gains(double change, double gradient, double own) noexcept {
  return change * (2 * gradient - change * own) > least_gain * change * change * own;
}

// Takes the best scale of a group that can be stored, if it gains, and returns what it has changed
// by, in units of the row. `along`: the gradient along the levels of the codes; `own`: their
// moment.
double changed_scale(CodeGrid& grid, double unit, double along, double own,
                     const std::function<float(double)>& rounded) {
  if (!(own > 0) || grid.is_constant()) return 0;
  const float scale = rounded(static_cast<double>(grid.scale) + unit * along / own);
  const double change = (static_cast<double>(scale) - static_cast<double>(grid.scale)) / unit;
  const bool is_possible = scale != 0 && (scale < 0) == (grid.scale < 0);
  if (!is_possible || !gains(change, along, own)) return 0;
  grid.scale = scale;
  return change;
}

std::vector<float> transposed(std::span<const float> from, std::size_t rows) {
  constexpr std::size_t side = 16;  // a line of the cache
  const std::size_t columns = from.size() / rows;
  std::vector<float> to(from.size());
  for (std::size_t top = 0; top < rows; top += side) {
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t row = top; row < std::min(top + side, rows); ++row) {
        to[column * rows + row] = from[row * columns + column];
      }
    }
  }
  return to;
}

// Errors are in units of their row, and moments in units of theirs.
class Descent {
 public:
  explicit Descent(RowRounder& rows)
      : rows_(rows),
        n_(rows.matrix.columns),
        section_(rows.matrix.section),
        units_(units_of(rows.weights, rows.rows)),
        own_(n_),
        kept_(1 - rows.matrix.shrinkage) {
    for (std::size_t i = 0; i < n_; ++i) own_[i] = rows.matrix.moment(i) / rows.matrix.unit;
    find_gradients();
    find_reach();
  }

  std::vector<double> run(int most_sweeps, const std::function<float(double)>& rounded);

 private:
  [[nodiscard]] double error(std::size_t column, std::size_t row) const noexcept {
    return rows_.error(column * rows_.rows + row, rows_.now.reals) / units_[row];
  }
  void find_gradients();
  void find_reach();
  /// Whether something changed.
  bool sweep_row(std::size_t row, std::size_t first, std::size_t end);
  /// Goes through `rows`, and leaves those in which something changed.
  void sweep_codes(std::vector<std::size_t>& rows);
  /// Columns of a group, by their places in it.
  struct Run {
    std::size_t first = 0;
    std::size_t end = 0;
  };
  /// Those of one section together.
  [[nodiscard]] std::vector<Run> sections_of(std::size_t block) const;
  /// e M of the columns of a group, [rows, columns of the group], for errors e that are in this
  /// group alone.
  [[nodiscard]] std::vector<float> products_within(std::size_t block,
                                                   std::span<const float> errors) const;
  /// Adds e E[x x^T] of such errors to the gradients.
  void add_products(std::size_t block, std::span<const float> errors);
  void sweep_scale(std::size_t block, const std::function<float(double)>& rounded,
                   std::vector<std::uint8_t>& has_changed);
  /// Of all rows; returns those in which something changed.
  std::vector<std::size_t> sweep_scales(const std::function<float(double)>& rounded);
  [[nodiscard]] std::vector<double> errors() const;

  RowRounder& rows_;
  std::size_t n_ = 0;
  std::size_t section_ = 0;
  std::vector<double> units_;     ///< of the rows
  std::vector<double> own_;       ///< the diagonal of M
  double kept_ = 1;               ///< of what is off it
  std::vector<float> gradients_;  ///< e M, [rows, columns]
  std::vector<float> reach_;      ///< [rows, columns]: smaller gradients change no code
};

void Descent::find_gradients() {
  const std::size_t rows = rows_.rows;
  std::vector<float> errors(n_ * rows);
  for (std::size_t column = 0; column < n_; ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      errors[column * rows + row] = static_cast<float>(error(column, row));
    }
  }
  std::vector<float> gradients(n_ * rows);
  std::vector<double> products(most_of_product * rows);
  std::size_t end = 0;
  for (std::size_t first = 0; first < n_; first = end) {
    const std::size_t start = rows_.matrix.first_of(first);
    end = std::min(first + most_of_product, rows_.matrix.end_of(first));
    std::ranges::fill(products, 0.0);
    add_long_product({.a = rows_.matrix.in_units.data() + first * section_,
                      .a_row = section_,
                      .b = errors.data() + start * rows,
                      .b_row = rows,
                      .rows = end - first,
                      .inner = rows_.matrix.end_of(first) - start,
                      .columns = rows},
                     products.data());
    for (std::size_t i = first; i < end; ++i) {
      const double of_own = rows_.matrix.shrinkage * own_[i];
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t at = i * rows + row;
        gradients[at] = static_cast<float>(kept_ * products[(i - first) * rows + row] +
                                           of_own * static_cast<double>(errors[at]));
      }
    }
  }
  gradients_ = transposed(gradients, n_);
}

void Descent::find_reach() {
  constexpr double part = 0.49;  // half of the way to the next, and what rounding may add
  reach_.resize(gradients_.size());
  std::vector<double> steps(rows_.blocks.columns.size());
  for (std::size_t row = 0; row < rows_.rows; ++row) {
    for (std::size_t block = 0; block < steps.size(); ++block) {
      const CodeGrid& grid = rows_.grids[block * rows_.rows + row];
      steps[block] = grid.is_constant() ? std::numeric_limits<double>::infinity()
                                        : part * grid.least_step() / units_[row];
    }
    for (std::size_t column = 0; column < n_; ++column) {
      reach_[row * n_ + column] =
          own_[column] > 0
              ? static_cast<float>(own_[column] * steps[rows_.blocks.of_column[column]])
              : std::numeric_limits<float>::infinity();
    }
  }
}

bool Descent::sweep_row(std::size_t row, std::size_t first, std::size_t end) {
  float* const gradients = gradients_.data() + row * n_;
  const float* const reach = reach_.data() + row * n_;
  bool is_reached = false;  // mostly not, which is seen of all columns at once
  for (std::size_t column = first; column < end; ++column) {
    is_reached |= std::fabs(gradients[column]) > reach[column];
  }
  if (!is_reached) return false;
  bool has_changed = false;
  for (std::size_t column = first; column < end; ++column) {
    if (std::fabs(gradients[column]) <= reach[column]) continue;
    const std::size_t at = column * rows_.rows + row;
    const double own = own_[column];
    const auto gradient = static_cast<double>(gradients[column]);
    float& real = rows_.now.reals[at];
    const double wanted = static_cast<double>(real) + gradient / own * units_[row];
    const CodedReal nearest = rows_.grid(row, column).nearest(wanted);
    const double change =
        (static_cast<double>(nearest.real) - static_cast<double>(real)) / units_[row];
    if (!gains(change, gradient, own)) continue;
    rows_.now.codes[at] = nearest.code;
    real = nearest.real;
    gradients[column] -= static_cast<float>(change * own * rows_.matrix.shrinkage);
    const auto less = static_cast<float>(-change * kept_);
    kernels::add_product({.a = &less,
                          .a_row = 1,
                          .b = rows_.matrix.in_units.data() + column * section_,
                          .b_row = section_,
                          .out = gradients + rows_.matrix.first_of(column),
                          .out_row = n_,
                          .rows = 1,
                          .inner = 1,
                          .columns = rows_.matrix.end_of(column) - rows_.matrix.first_of(column)});
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

std::vector<Descent::Run> Descent::sections_of(std::size_t block) const {
  const std::vector<std::uint32_t>& columns = rows_.blocks.columns[block];
  std::vector<Run> found;
  for (std::size_t first = 0; first < columns.size();) {
    std::size_t end = first + 1;
    while (end < columns.size() && columns[end] < rows_.matrix.end_of(columns[first])) ++end;
    found.push_back({first, end});
    first = end;
  }
  return found;
}

std::vector<float> Descent::products_within(std::size_t block,
                                            std::span<const float> errors) const {
  const std::vector<std::uint32_t>& columns = rows_.blocks.columns[block];
  std::vector<float> products(errors.size());
  std::vector<float> gathered;
  for (const auto& [first, end] : sections_of(block)) {
    const std::size_t size = end - first;
    const std::size_t begin = columns[first];
    const bool are_neighbours = columns[end - 1] - begin + 1 == size;
    const float* const moments = rows_.matrix.in_units.data() + begin * section_ + begin % section_;
    gathered.resize(are_neighbours ? 0 : size * size);
    for (std::size_t i = 0; i < gathered.size(); ++i) {
      const std::size_t column = columns[first + i / size];
      gathered[i] = rows_.matrix.in_units[column * section_ + columns[first + i % size] % section_];
    }
    kernels::add_product({.a = errors.data() + first,
                          .a_row = columns.size(),
                          .b = are_neighbours ? moments : gathered.data(),
                          .b_row = are_neighbours ? section_ : size,
                          .out = products.data() + first,
                          .out_row = columns.size(),
                          .rows = rows_.rows,
                          .inner = size,
                          .columns = size});
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double of_own = rows_.matrix.shrinkage * own_[columns[i]];
    for (std::size_t at = i; at < products.size(); at += columns.size()) {
      products[at] = static_cast<float>(kept_ * static_cast<double>(products[at]) +
                                        of_own * static_cast<double>(errors[at]));
    }
  }
  return products;
}

void Descent::add_products(std::size_t block, std::span<const float> errors) {
  const std::vector<std::uint32_t>& columns = rows_.blocks.columns[block];
  for (const Run& section : sections_of(block)) {
    const std::size_t start = rows_.matrix.first_of(columns[section.first]);
    for (std::size_t first = section.first; first < section.end;) {
      std::size_t end = first + 1;  // of neighbours
      while (end < section.end && columns[end] == columns[end - 1] + 1) ++end;
      kernels::add_product({.a = errors.data() + first,
                            .a_row = columns.size(),
                            .b = rows_.matrix.in_units.data() + columns[first] * section_,
                            .b_row = section_,
                            .out = gradients_.data() + start,
                            .out_row = n_,
                            .rows = rows_.rows,
                            .inner = end - first,
                            .columns = rows_.matrix.end_of(start) - start});
      first = end;
    }
  }
}

void Descent::sweep_scale(std::size_t block, const std::function<float(double)>& rounded,
                          std::vector<std::uint8_t>& has_changed) {
  const std::vector<std::uint32_t>& columns = rows_.blocks.columns[block];
  const std::size_t size = columns.size();
  std::vector<float> levels(rows_.rows * size);  // what codes stand for before scales
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t row = 0; row < rows_.rows; ++row) {
      const CodeGrid& grid = rows_.grids[block * rows_.rows + row];
      levels[row * size + i] = grid.level(rows_.now.codes[columns[i] * rows_.rows + row]);
    }
  }
  const std::vector<float> products = products_within(block, levels);
  std::vector<float> within(levels.size());  // gradients of the group
  for (std::size_t row = 0; row < rows_.rows; ++row) {
    CodeGrid& grid = rows_.grids[block * rows_.rows + row];
    const float* const gradients = gradients_.data() + row * n_;
    double along = 0;
    double own = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto level = static_cast<double>(levels[row * size + i]);
      along += level * static_cast<double>(gradients[columns[i]]);
      own += level * static_cast<double>(products[row * size + i]);
    }
    const double change = changed_scale(grid, units_[row], along, own, rounded);
    if (change != 0) has_changed[row] = 1;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = row * size + i;
      within[at] = static_cast<float>(static_cast<double>(gradients[columns[i]]) -
                                      change * static_cast<double>(products[at]));
      rows_.now.reals[columns[i] * rows_.rows + row] = grid.real(levels[at]);
      levels[at] = static_cast<float>(static_cast<double>(levels[at]) * -change * kept_);
    }
  }
  if (size < n_) add_products(block, levels);
  for (std::size_t row = 0; row < rows_.rows; ++row) {
    for (std::size_t i = 0; i < size; ++i) {
      gradients_[row * n_ + columns[i]] = within[row * size + i];
    }
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
  const std::vector<float> gradients = transposed(gradients_, rows_.rows);
  for (std::size_t column = 0; column < n_; ++column) {
    for (std::size_t row = 0; row < rows_.rows; ++row) {
      sums[row] += static_cast<double>(gradients[column * rows_.rows + row]) * error(column, row);
    }
  }
  for (std::size_t row = 0; row < rows_.rows; ++row) {
    sums[row] *= rows_.matrix.unit * units_[row] * units_[row];
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

std::vector<double> descend(RowRounder& rows, int most_sweeps,
                            const std::function<float(double)>& rounded) {
  return Descent(rows).run(most_sweeps, rounded);
}

}  // namespace quadrant::inline v0
