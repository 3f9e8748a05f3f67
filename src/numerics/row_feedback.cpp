#include "numerics/row_feedback.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "numerics/float_products.hpp"
#include "numerics/kernels/nearest_levels.hpp"

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
        units_(units_of(rows.weights, rows.rows)),
        wanted_(rows.rows),
        are_integers_(std::ranges::all_of(
            rows.grids, [](const CodeGrid& grid) { return grid.values->is_linear(); })) {
    for (const CodeGrid& grid : rows.grids) {
      scales_.push_back(grid.scale);
      minima_.push_back(grid.minimum);
      zero_points_.push_back(grid.zero_point);
    }
  }

  FedBack run() {
    const RoundedMatrix& matrix = rows_.matrix;
    std::size_t end = 0;
    for (std::size_t first = 0; first < matrix.columns; first = end) {
      end = std::min(first + columns_that_hear, matrix.end_of(first));
      std::ranges::fill(made_up_, 0.0);
      hear({first, end}, {matrix.first_of(first), first}, made_up_);
      for (std::size_t place = first; place < end; ++place) {
        const auto own = std::span(made_up_).subspan((place - first) * rows_.rows, rows_.rows);
        hear({place, place + 1}, {first, place}, own);
        round(place, own);
      }
    }
    found_.errors = rows_.measured(std::move(found_.errors), matrix.damping, found_.codes.reals);
    return std::move(found_);
  }

 private:
  // Places, of one section, in the order in which columns are rounded.
  struct Places {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  // Adds what some columns make up for of the errors of others before.
  void hear(const Places& some, const Places& before, std::span<double> made_up) {
    const std::size_t section = rows_.matrix.section;
    const std::size_t rows = rows_.rows;
    add_long_product(
        {.a = rows_.matrix.feedback.data() + some.first * section + before.first % section,
         .a_row = section,
         .b = errors_.data() + before.first * rows,
         .b_row = rows,
         .rows = some.end - some.first,
         .inner = before.end - before.first,
         .columns = rows},
        made_up.data());
  }
  // Takes the nearest to `wanted_`.
  void choose(std::size_t column) {
    const std::size_t rows = rows_.rows;
    std::uint32_t* const codes = found_.codes.codes.data() + column * rows;
    float* const reals = found_.codes.reals.data() + column * rows;
    const std::size_t first = rows_.blocks.of_column[column] * rows;
    if (are_integers_) {
      const CodeValues& values = *rows_.grids[first].values;
      kernels::nearest_on_grids({wanted_.data(), scales_.data() + first, minima_.data() + first,
                                 zero_points_.data() + first, rows},
                                values.low(), values.high(), codes, reals);
      return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const CodeGrid& grid = rows_.grids[first + row];
      if (grid.is_constant()) continue;
      const CodedReal nearest = grid.nearest(wanted_[row]);
      codes[row] = nearest.code;
      reals[row] = nearest.real;
    }
  }
  void round(std::size_t place, std::span<const double> made_up) {
    const std::size_t rows = rows_.rows;
    const std::size_t column = rows_.matrix.order[place];
    const double pivot = rows_.matrix.pivots[place];
    const auto weights = std::span(rows_.weights).subspan(column * rows, rows);
    const auto reals = std::span(found_.codes.reals).subspan(column * rows, rows);
    for (std::size_t row = 0; row < rows; ++row) {
      wanted_[row] = static_cast<double>(weights[row]) + made_up[row] * units_[row];
    }
    if (rows_.matrix.moment(column) > 0) choose(column);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto real = static_cast<double>(reals[row]);
      const double error = static_cast<double>(weights[row]) - real;
      errors_[place * rows + row] = static_cast<float>(error / units_[row]);
      found_.errors[row] += pivot * (wanted_[row] - real) * (wanted_[row] - real);
    }
  }

  const RowRounder& rows_;
  std::vector<float> errors_;    // in the order of feedback, in units of the row
  std::vector<double> made_up_;  // of some columns
  FedBack found_;
  std::vector<double> units_;
  std::vector<double> wanted_;  // of one column
  // Of the grids, whose codes are integers or not.
  bool are_integers_ = false;
  std::vector<float> scales_;
  std::vector<float> minima_;
  std::vector<float> zero_points_;
};

}  // namespace

FedBack feed_back(const RowRounder& rows) { return Feedback(rows).run(); }

}  // namespace quadrant::inline v0
