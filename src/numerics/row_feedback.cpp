#include "numerics/row_feedback.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "numerics/float_products.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t columns_that_hear = most_of_product;  // of all before, together
static_assert(RowRounder::most_rows <= most_of_product);

class Feedback {
 public:
  explicit Feedback(const RowRounder& rows)
      : rows_(rows),
        errors_(rows.matrix.columns * rows.rows),
        made_up_(columns_that_hear * rows.rows),
        found_{rows.now, std::vector<double>(rows.rows)},
        units_(rows.rows) {
    for (std::size_t column = 0; column < rows.matrix.columns; ++column) {
      for (std::size_t row = 0; row < rows.rows; ++row) {
        units_[row] = std::max(units_[row], std::fabs(rows.weights[column * rows.rows + row]));
      }
    }
    for (double& unit : units_) unit = power_of_two_near(unit);
  }

  FedBack run() {
    const RoundedMatrix& matrix = rows_.matrix;
    for (std::size_t first = 0; first < matrix.columns; first += columns_that_hear) {
      const std::size_t end = std::min(first + columns_that_hear, matrix.columns);
      std::ranges::fill(made_up_, 0.0);
      hear({first, end}, {0, first});
      for (std::size_t place = first; place < end; ++place) {
        hear({place, place + 1}, {first, place});
        round(place, std::span(made_up_).subspan((place - first) * rows_.rows, rows_.rows));
      }
    }
    found_.errors = rows_.measured(std::move(found_.errors), matrix.damping, found_.codes.reals);
    return std::move(found_);
  }

 private:
  // Places in the order in which columns are rounded.
  struct Places {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  // Adds what some columns make up for of the errors of others before.
  void hear(const Places& some, const Places& before) {
    const std::size_t n = rows_.matrix.columns;
    const std::size_t rows = rows_.rows;
    add_long_product({.a = rows_.matrix.feedback.data() + some.first * n + before.first,
                      .a_row = n,
                      .b = errors_.data() + before.first * rows,
                      .b_row = rows,
                      .rows = some.end - some.first,
                      .inner = before.end - before.first,
                      .columns = rows},
                     made_up_.data() + some.first % columns_that_hear * rows);
  }
  void round(std::size_t place, std::span<const double> made_up) {
    const std::size_t column = rows_.matrix.order[place];
    const double pivot = rows_.matrix.pivots[place];
    const bool has_inputs = rows_.matrix.moment(column) > 0;
    for (std::size_t row = 0; row < rows_.rows; ++row) {
      const std::size_t at = column * rows_.rows + row;
      const CodeGrid& grid = rows_.grid(row, column);
      const double wanted = rows_.weights[at] + made_up[row] * units_[row];
      double& real = found_.codes.reals[at];
      if (has_inputs && !grid.is_constant()) {
        const CodedReal nearest = grid.nearest(wanted);
        found_.codes.codes[at] = nearest.code;
        real = nearest.real;
      }
      errors_[place * rows_.rows + row] =
          static_cast<float>((rows_.weights[at] - real) / units_[row]);
      found_.errors[row] += pivot * (wanted - real) * (wanted - real);
    }
  }

  const RowRounder& rows_;
  std::vector<float> errors_;    // in the order of feedback, in units of the row
  std::vector<double> made_up_;  // of some columns
  FedBack found_;
  std::vector<double> units_;
};

}  // namespace

FedBack feed_back(const RowRounder& rows) { return Feedback(rows).run(); }

}  // namespace quadrant::inline v0
