#include "numerics/rounded_matrix.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "numerics/cholesky.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr double damping_of_unit = 1e-4;

}  // namespace

RoundedMatrix::RoundedMatrix(const SecondMoments& of, std::size_t matrix, double given)
    : columns(of.layout().columns.size()), section(of.block()), moments(of.block_means(matrix)) {
  double trace = 0;
  for (std::size_t i = 0; i < columns; ++i) trace += moment(i);
  unit = trace / static_cast<double>(columns);
  const auto count = static_cast<double>(std::max<std::int64_t>(of.count(matrix), 1));
  const auto size = static_cast<double>(section);
  shrinkage = given >= 0 ? std::min(given, 1.0) : size / (size + count);
  const double inverse = unit > 0 ? 1 / unit : 0;
  in_units.resize(moments.size());
  std::ranges::transform(moments, in_units.begin(),
                         [inverse](double moment) { return static_cast<float>(moment * inverse); });
}

void RoundedMatrix::find_feedback(Executor& executor) {
  damping = damping_of_unit * unit;
  order.resize(columns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  feedback.resize(moments.size());
  pivots.resize(columns);
  for (std::size_t first = 0; first < columns; first = end_of(first)) {
    find_feedback(first, end_of(first) - first, executor);
  }
}

// With L L^T = M, and errors e of rows, |e L|^2 is what is to be small. Column by column from the
// last to the first, that of e L is known but for the column's own error, which can make it small:
// what those of later columns add to it, divided by the pivot, is made up for. Here the last column
// is the first in order.
void RoundedMatrix::find_feedback(std::size_t first, std::size_t size, Executor& executor) {
  const auto own = std::span(order).subspan(first, size);
  std::ranges::sort(own, std::greater<>(),
                    [&](std::size_t column) { return std::pair(moment(column), column); });
  const auto place = [size](std::size_t i) { return size - 1 - i; };
  std::vector<double> factor(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    const double* const of_column = moments.data() + own[place(i)] * section;
    for (std::size_t j = 0; j < i; ++j) {
      factor[i * size + j] = (1 - shrinkage) * of_column[own[place(j)] - first];
    }
    factor[i * size + i] = moment(own[place(i)]) + damping;
  }
  factorize(factor, size, damping_of_unit * damping, executor);
  constexpr std::size_t side = 16;  // of squares that the cache holds
  for (std::size_t top = 0; top < size; top += side) {
    for (std::size_t j = 0; j < std::min(top + side, size); ++j) {
      const double* const from = factor.data() + place(j) * size;
      for (std::size_t i = std::max(top, j + 1); i < std::min(top + side, size); ++i) {
        const double pivot = factor[place(i) * size + place(i)];
        feedback[(first + i) * section + j] = static_cast<float>(from[place(i)] / pivot);
      }
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    const double pivot = factor[place(i) * size + place(i)];
    pivots[first + i] = pivot * pivot;
  }
}

}  // namespace quadrant::inline v0
