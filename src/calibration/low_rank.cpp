#include "calibration/low_rank.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

namespace quadrant::inline v0 {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::MatrixXd;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

auto matrix_of(std::span<const double> values, std::size_t columns) {
  return Eigen::Map<const RowMajor>(values.data(), index(values.size() / columns), index(columns));
}

// Of a matrix with nothing outside of blocks on its diagonal.
struct Blocks {
  std::span<const double> values;  ///< [rows, size], each row with what is in its block
  Eigen::Index rows = 0;
  Eigen::Index size = 0;

  Blocks(std::span<const double> of, Eigen::Index count)
      : values(of), rows(count), size(count == 0 ? 1 : index(of.size()) / count) {}

  [[nodiscard]] Eigen::Index extent(Eigen::Index first) const {
    return std::min(size, rows - first);
  }
  // Some rows of the one that begins at `first`.
  [[nodiscard]] auto part(Eigen::Index first, Eigen::Index row, Eigen::Index count) const {
    return Eigen::Map<const RowMajor, Eigen::Unaligned, Eigen::OuterStride<>>(
        values.data() + row * size, count, extent(first), Eigen::OuterStride<>(size));
  }
};

// L^T D.
RowMajor seen_through(const Blocks& root, const Eigen::Map<const RowMajor>& difference) {
  RowMajor seen(difference.rows(), difference.cols());
  for (Eigen::Index first = 0; first < root.rows; first += root.size) {
    const Eigen::Index extent = root.extent(first);
    seen.middleRows(first, extent).noalias() =
        root.part(first, first, extent).transpose().triangularView<Eigen::Upper>() *
        difference.middleRows(first, extent);
  }
  return seen;
}

// Those of a symmetric matrix with the largest eigenvalues, the largest first.
Expected<ColumnMajor> first_eigenvectors(const ColumnMajor& symmetric, Eigen::Index count) {
  const Eigen::SelfAdjointEigenSolver<ColumnMajor> solver(symmetric);
  if (solver.info() != Eigen::Success || !solver.eigenvalues().allFinite()) {
    return fail(ErrorCode::impossible, "its numbers, squared, are beyond those of a double");
  }
  return ColumnMajor(solver.eigenvectors().rightCols(count).rowwise().reverse());
}

// Of the rows of `seen`, the directions that hold most of their squares.
Expected<ColumnMajor> first_directions(const Eigen::Ref<const RowMajor>& seen, Eigen::Index count) {
  if (seen.cols() <= seen.rows()) {
    return first_eigenvectors(seen.transpose() * seen, count);
  }
  QUADRANT_TRY(const ColumnMajor left, first_eigenvectors(seen * seen.transpose(), count));
  // Orthonormal whatever the smallest singular values are, which squares hardly know.
  const Eigen::HouseholderQR<ColumnMajor> factored(seen.transpose() * left);
  return ColumnMajor(factored.householderQ() * ColumnMajor::Identity(seen.cols(), count));
}

}  // namespace

Expected<LowRankFactors> low_rank_factors(std::span<const double> matrix, std::size_t columns,
                                          std::span<const double> root, std::size_t rank) {
  const auto difference = matrix_of(matrix, columns);
  const Eigen::Index count = std::min({index(rank), difference.rows(), difference.cols()});
  const auto find = [&] {
    if (root.empty()) return first_directions(difference, count);
    return first_directions(seen_through({root, difference.rows()}, difference), count);
  };
  QUADRANT_TRY(const ColumnMajor directions, find());
  LowRankFactors made{
      .rank = static_cast<std::size_t>(count),
      .left = std::vector<double>(static_cast<std::size_t>(difference.rows() * count)),
      .right = std::vector<double>(columns * static_cast<std::size_t>(count))};
  Eigen::Map<RowMajor> left(made.left.data(), difference.rows(), count);
  Eigen::Map<RowMajor> right(made.right.data(), count, difference.cols());
  left = difference * directions;
  right = directions.transpose();
  for (Eigen::Index i = 0; i < count; ++i) {
    const double length = left.col(i).norm();
    if (!(length > 0)) continue;
    left.col(i) /= std::sqrt(length);
    right.row(i) *= std::sqrt(length);
  }
  return made;
}

std::vector<double> product_of(const LowRankFactors& factors) {
  const std::size_t columns = factors.right.size() / factors.rank;
  std::vector<double> made(factors.left.size() / factors.rank * columns);
  Eigen::Map<RowMajor>(made.data(), index(made.size() / columns), index(columns)) =
      matrix_of(factors.left, factors.rank) * matrix_of(factors.right, columns);
  return made;
}

void subtract_product(std::span<double> matrix, const LowRankFactors& factors) {
  const std::size_t columns = factors.right.size() / factors.rank;
  Eigen::Map<RowMajor>(matrix.data(), index(matrix.size() / columns), index(columns)).noalias() -=
      matrix_of(factors.left, factors.rank) * matrix_of(factors.right, columns);
}

double weighted_squares(std::span<const double> matrix, std::size_t columns,
                        std::span<const double> moments) {
  const auto errors = matrix_of(matrix, columns);
  if (moments.empty()) return errors.squaredNorm();
  constexpr Eigen::Index most_rows = 256;
  const Blocks blocks(moments, errors.rows());
  double sum = 0;
  for (Eigen::Index first = 0; first < blocks.rows; first += blocks.size) {
    const Eigen::Index end = first + blocks.extent(first);
    for (Eigen::Index row = first; row < end; row += most_rows) {
      const Eigen::Index count = std::min(most_rows, end - row);
      const RowMajor weighted =
          blocks.part(first, row, count) * errors.middleRows(first, end - first);
      sum += weighted.cwiseProduct(errors.middleRows(row, count)).sum();
    }
  }
  return sum;
}

}  // namespace quadrant::inline v0
