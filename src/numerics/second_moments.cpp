#include "quadrant/numerics/second_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "numerics/cholesky.hpp"
#include "numerics/kernels/matrix_product.hpp"
#include "quadrant/support/executor.hpp"
#include "support/merge_left.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

// A tile of sums in double is exact: fewer than 2^23 products of integers of 15 bits.
constexpr std::size_t inputs_at_once = 1024;
constexpr std::size_t tile = 64;

constexpr std::size_t row_of_triangle(std::size_t row) noexcept { return row * (row + 1) / 2; }

// x^T x of inputs [count, n]; rows of the triangle tile by tile.
void add_products(std::span<const double> x, std::size_t n, std::span<std::int64_t> triangle) {
  const std::size_t count = x.size() / n;
  std::vector<double> across(tile * count);  // columns side by side
  std::array<double, tile * tile> products{};
  for (std::size_t top = 0; top < n; top += tile) {
    const std::size_t rows = std::min(tile, n - top);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t r = 0; r < rows; ++r) across[r * count + i] = x[i * n + top + r];
    }
    for (std::size_t left = 0; left <= top; left += tile) {
      const std::size_t columns = std::min(tile, n - left);
      products.fill(0);
      kernels::add_product({.a = across.data(),
                            .a_row = count,
                            .b = x.data() + left,
                            .b_row = n,
                            .out = products.data(),
                            .out_row = tile,
                            .rows = rows,
                            .inner = count,
                            .columns = columns});
      for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t end = std::min(columns, top + i + 1 - left);
        std::int64_t* const sums = triangle.data() + row_of_triangle(top + i) + left;
        for (std::size_t j = 0; j < end; ++j) {
          sums[j] += static_cast<std::int64_t>(products[i * tile + j]);
        }
      }
    }
  }
}

}  // namespace

SecondMoments::SecondMoments(WeightMatrices layout, std::vector<double> steps)
    : layout_(std::move(layout)),
      steps_(std::move(steps)),
      counts_(layout_.matrices.size()),
      sums_(layout_.matrices.size() * row_of_triangle(layout_.columns.size())) {
  steps_.resize(layout_.matrices.size() * layout_.columns.size());
}

std::uint64_t SecondMoments::bytes_of(const WeightMatrices& layout) noexcept {
  const std::uint64_t columns = layout.columns.size();
  const std::uint64_t sums = saturating_multiply(columns, columns + 1) / 2;
  return saturating_multiply(saturating_multiply(sums, layout.matrices.size()),
                             sizeof(std::int64_t));
}

std::span<const double> SecondMoments::steps(std::size_t matrix) const noexcept {
  return std::span(steps_).subspan(matrix * width(), width());
}

void SecondMoments::divide_inputs(std::span<const double> factors) {
  const std::size_t taps = steps_.size() / factors.size();
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i] /= factors[i / taps];
}

std::span<std::int64_t> SecondMoments::triangle(std::size_t matrix) noexcept {
  const std::size_t size = row_of_triangle(width());
  return std::span(sums_).subspan(matrix * size, size);
}

std::span<const std::int64_t> SecondMoments::triangle(std::size_t matrix) const noexcept {
  const std::size_t size = row_of_triangle(width());
  return std::span(sums_).subspan(matrix * size, size);
}

Expected<void> SecondMoments::add(std::size_t matrix, std::span<const double> inputs) {
  const std::size_t n = width();
  if (matrix >= counts_.size() || (n == 0 ? !inputs.empty() : inputs.size() % n != 0)) {
    return fail(ErrorCode::impossible, fmt::format("{} numbers for matrix {} of {}, of {} columns",
                                                   inputs.size(), matrix, counts_.size(), n));
  }
  const std::size_t count = n == 0 ? 0 : inputs.size() / n;
  if (counts_[matrix] + static_cast<std::int64_t>(count) > largest_count) {
    return fail(ErrorCode::impossible,
                fmt::format("more than {} inputs of one layer", largest_count));
  }
  counts_[matrix] += static_cast<std::int64_t>(count);
  for (std::size_t from = 0; from < count; from += inputs_at_once) {
    const std::size_t size = std::min(inputs_at_once, count - from);
    add_products(inputs.subspan(from * n, size * n), n, triangle(matrix));
  }
  return {};
}

namespace {

// A sum of products of two columns is bounded by those of their squares (Cauchy and Schwarz); these
// bounds are not exact in double, so they leave some room.
bool are_sums(std::span<const std::int64_t> triangle, std::size_t n, std::int64_t count) {
  constexpr double most = SecondMoments::most_steps * SecondMoments::most_steps;
  constexpr double slack = 1 + 1e-12;
  const auto square = [&](std::size_t i) {
    return static_cast<double>(triangle[row_of_triangle(i) + i]);
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (square(i) < 0 || square(i) > most * static_cast<double>(count)) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const auto product = static_cast<double>(triangle[row_of_triangle(i) + j]);
      if (product * product > square(i) * square(j) * slack) return false;
    }
  }
  return true;
}

}  // namespace

bool SecondMoments::is_step(double step) noexcept {
  constexpr double largest = 0x1p480;  // sums of squares of such inputs are finite
  return step >= 0 && step <= largest;
}

Expected<SecondMoments> SecondMoments::from_sums(WeightMatrices layout, std::vector<double> steps,
                                                 std::vector<std::int64_t> counts,
                                                 std::vector<std::int64_t> sums) {
  const std::size_t matrices = layout.matrices.size();
  const std::size_t n = layout.columns.size();
  if (steps.size() != matrices * n || counts.size() != matrices ||
      sums.size() != matrices * row_of_triangle(n)) {
    return fail(ErrorCode::invalid_model, "there are not as many sums as the layout says");
  }
  if (!std::ranges::all_of(steps, is_step)) {
    return fail(ErrorCode::invalid_model, "a step of the grid is negative, or beyond all numbers");
  }
  SecondMoments made(std::move(layout), std::move(steps));
  made.counts_ = std::move(counts);
  made.sums_ = std::move(sums);
  for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
    const std::int64_t count = made.counts_[matrix];
    const SecondMoments& seen = made;
    if (count < 0 || count > largest_count || !are_sums(seen.triangle(matrix), n, count)) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("no {} inputs have the sums of matrix {}", count, matrix));
    }
  }
  return made;
}

Expected<void> SecondMoments::check_merge(const SecondMoments& other) const {
  if (layout_ != other.layout_ || steps_ != other.steps_) {
    return fail(ErrorCode::usage, "moments that were counted on another grid cannot be added");
  }
  for (std::size_t matrix = 0; matrix < counts_.size(); ++matrix) {
    if (counts_[matrix] + other.counts_[matrix] <= largest_count) continue;
    return fail(ErrorCode::impossible,
                fmt::format("more than {} inputs of one layer", largest_count));
  }
  return {};
}

Expected<void> SecondMoments::merge(const SecondMoments& other) {
  QUADRANT_CHECK(check_merge(other));
  std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus());
  std::ranges::transform(sums_, other.sums_, sums_.begin(), std::plus());
  return {};
}

Expected<void> SecondMomentsTable::merge(const SecondMomentsTable& other) {
  for (const auto& [name, moments] : other.weights) {
    const SecondMoments* const own = find(name);
    if (own == nullptr) continue;
    auto checked = own->check_merge(moments);
    if (checked) continue;
    checked.error().place.tensor = name;
    return checked;
  }
  if (model.empty()) model = other.model;
  if (model_hash == 0) model_hash = other.model_hash;
  samples = saturating_add(samples, other.samples);
  merge_left(left, other.left);
  for (const auto& [name, moments] : other.weights) {
    const auto [place, is_new] = weights.try_emplace(name, moments);
    if (!is_new) QUADRANT_CHECK(place->second.merge(moments));
  }
  for (const LeftAlone& each : left) weights.erase(each.name);
  return {};
}

namespace {

// Copies what is below the diagonal to above it, squares that the cache holds at a time.
void mirror_lower(std::span<double> matrix, std::size_t n) {
  constexpr std::size_t side = 16;
  for (std::size_t top = 0; top < n; top += side) {
    for (std::size_t j = 0; j < std::min(top + side, n); ++j) {
      for (std::size_t i = std::max(top, j + 1); i < std::min(top + side, n); ++i) {
        matrix[j * n + i] = matrix[i * n + j];
      }
    }
  }
}

}  // namespace

std::vector<double> SecondMoments::mean(std::size_t matrix) const {
  const std::size_t n = width();
  std::vector<double> result(n * n);
  if (counts_[matrix] == 0) return result;
  const auto sums = triangle(matrix);
  const auto step = steps(matrix);
  const auto count = static_cast<double>(counts_[matrix]);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double mean =
          static_cast<double>(sums[row_of_triangle(i) + j]) * (step[i] * step[j]) / count;
      result[i * n + j] = mean;
    }
  }
  mirror_lower(result, n);
  return result;
}

std::vector<double> SecondMoments::factor(std::size_t matrix, double damping) const {
  const std::size_t n = width();
  std::vector<double> factor = mean(matrix);
  double unit = 0;  // the mean of the diagonal
  for (std::size_t i = 0; i < n; ++i) unit += factor[i * n + i] / static_cast<double>(n);
  const double added = unit == 0 ? 1 : damping * unit;
  for (std::size_t i = 0; i < n; ++i) factor[i * n + i] += added;
  SerialExecutor serial;
  factorize(factor, n, 1e-4 * added, serial);
  for (std::size_t i = 0; i < n; ++i) {
    std::fill(factor.begin() + static_cast<std::ptrdiff_t>(i * n + i + 1),
              factor.begin() + static_cast<std::ptrdiff_t>((i + 1) * n), 0.0);
  }
  return factor;
}

std::vector<float> SecondMoments::relative_diagonal(std::size_t elements) const {
  const std::size_t n = width();
  std::vector<double> means(counts_.size() * n);
  for (std::size_t m = 0; m < counts_.size(); ++m) {
    const auto count = static_cast<double>(std::max<std::int64_t>(counts_[m], 1));
    for (std::size_t c = 0; c < n; ++c) {
      const auto sum = static_cast<double>(triangle(m)[row_of_triangle(c) + c]);
      means[m * n + c] = sum * steps(m)[c] * steps(m)[c] / count;
    }
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(means.size(), 1));
  std::vector<float> result(elements);
  if (!(mean > 0)) return result;
  for (std::size_t m = 0; m < counts_.size(); ++m) {
    for (std::size_t r = 0; r < layout_.rows.size(); ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        result[layout_.element(m, r, c)] = static_cast<float>(means[m * n + c] / mean);
      }
    }
  }
  return result;
}

std::uint64_t SecondMoments::fingerprint() const noexcept {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, of words
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001B3; };
  for (const std::int64_t count : counts_) add(static_cast<std::uint64_t>(count));
  for (const double step : steps_) add(std::bit_cast<std::uint64_t>(step));
  for (const std::int64_t sum : sums_) add(static_cast<std::uint64_t>(sum));
  return hash;
}

}  // namespace quadrant::inline v0
