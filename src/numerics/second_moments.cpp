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
#include "quadrant/support/files.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

// A tile of sums in double is exact: fewer than 2^23 products of integers of 15 bits.
constexpr std::size_t inputs_at_once = 1024;
constexpr std::size_t tile = 64;

constexpr std::size_t row_of_triangle(std::size_t row) noexcept { return row * (row + 1) / 2; }

// Where the sums of a column with those of its block begin, the first of these first; of n columns,
// how many sums there are.
constexpr std::size_t sums_before(std::size_t column, std::size_t block) noexcept {
  return column / block * row_of_triangle(block) + row_of_triangle(column % block);
}

/// Some columns of inputs [count, n].
struct Columns {
  std::span<const double> x;
  std::size_t n = 0;
  std::size_t first = 0;
  std::size_t size = 0;
};

// x^T x of a block; rows of the triangle tile by tile.
void add_products(const Columns& of, std::span<std::int64_t> triangle) {
  const std::size_t count = of.x.size() / of.n;
  const double* const x = of.x.data() + of.first;
  std::vector<double> across(std::min(tile, of.size) * count);  // columns side by side
  std::array<double, tile * tile> products{};
  for (std::size_t top = 0; top < of.size; top += tile) {
    const std::size_t rows = std::min(tile, of.size - top);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t r = 0; r < rows; ++r) across[r * count + i] = x[i * of.n + top + r];
    }
    for (std::size_t left = 0; left <= top; left += tile) {
      const std::size_t columns = std::min(tile, of.size - left);
      std::fill_n(products.begin(), rows * tile, 0.0);
      kernels::add_product({.a = across.data(),
                            .a_row = count,
                            .b = x + left,
                            .b_row = of.n,
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

SecondMoments::SecondMoments(WeightMatrices layout, std::vector<double> steps, std::size_t block)
    : layout_(std::move(layout)),
      steps_(std::move(steps)),
      block_(block_of(layout_, block)),
      counts_(layout_.matrices.size()),
      sums_(layout_.matrices.size() * sums_before(layout_.columns.size(), block_)) {
  steps_.resize(layout_.matrices.size() * layout_.columns.size());
}

std::size_t SecondMoments::block_of(const WeightMatrices& layout, std::size_t asked) noexcept {
  return std::clamp<std::size_t>(asked, 1, std::max<std::size_t>(layout.columns.size(), 1));
}

std::uint64_t SecondMoments::bytes_of(const WeightMatrices& layout, std::size_t block) noexcept {
  const std::uint64_t columns = layout.columns.size();
  const std::uint64_t own = block_of(layout, block);
  const auto triangle = [](std::uint64_t n) { return saturating_multiply(n, n + 1) / 2; };
  const std::uint64_t sums =
      saturating_add(saturating_multiply(columns / own, triangle(own)), triangle(columns % own));
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
  const std::size_t size = sums_before(width(), block_);
  return std::span(sums_).subspan(matrix * size, size);
}

std::span<const std::int64_t> SecondMoments::triangle(std::size_t matrix) const noexcept {
  const std::size_t size = sums_before(width(), block_);
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
    for (std::size_t first = 0; first < n; first += block_) {
      add_products({inputs.subspan(from * n, size * n), n, first, std::min(block_, n - first)},
                   triangle(matrix).subspan(sums_before(first, block_)));
    }
  }
  return {};
}

namespace {

// A sum of products of two columns is bounded by those of their squares (Cauchy and Schwarz); these
// bounds are not exact in double, so they leave some room.
bool are_sums(std::span<const std::int64_t> sums, std::size_t n, std::size_t block,
              std::int64_t count) {
  constexpr double most = SecondMoments::most_steps * SecondMoments::most_steps;
  constexpr double slack = 1 + 1e-12;
  const auto square = [&](std::size_t i) {
    return static_cast<double>(sums[sums_before(i, block) + i % block]);
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (square(i) < 0 || square(i) > most * static_cast<double>(count)) return false;
    for (std::size_t j = i - i % block; j < i; ++j) {
      const auto product = static_cast<double>(sums[sums_before(i, block) + j % block]);
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
                                                 std::vector<std::int64_t> sums,
                                                 std::size_t block) {
  const std::size_t matrices = layout.matrices.size();
  const std::size_t n = layout.columns.size();
  block = block_of(layout, block);
  if (steps.size() != matrices * n || counts.size() != matrices ||
      sums.size() != matrices * sums_before(n, block)) {
    return fail(ErrorCode::invalid_model, "there are not as many sums as the layout says");
  }
  if (!std::ranges::all_of(steps, is_step)) {
    return fail(ErrorCode::invalid_model, "a step of the grid is negative, or beyond all numbers");
  }
  // Without sums, which are there.
  SecondMoments made({.matrices = {}, .rows = {}, .columns = layout.columns}, {}, block);
  made.layout_ = std::move(layout);
  made.steps_ = std::move(steps);
  made.counts_ = std::move(counts);
  made.sums_ = std::move(sums);
  for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
    const std::int64_t count = made.counts_[matrix];
    const SecondMoments& seen = made;
    if (count < 0 || count > largest_count || !are_sums(seen.triangle(matrix), n, block, count)) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("no {} inputs have the sums of matrix {}", count, matrix));
    }
  }
  return made;
}

Expected<void> SecondMoments::check_merge(const SecondMoments& other) const {
  if (layout_ != other.layout_ || steps_ != other.steps_ || block_ != other.block_) {
    return fail(ErrorCode::usage,
                "moments that were counted on another grid, or in other blocks, cannot be added");
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

Expected<void> KeptMoments::put_away(std::shared_ptr<ScratchFile> file) {
  if (is_away()) return {};
  QUADRANT_TRY(place_, file->append(std::as_bytes(std::span(moments_.sums_))));
  file_ = std::move(file);
  moments_.sums_ = std::vector<std::int64_t>();  // which gives its memory back
  return {};
}

Expected<SecondMoments> KeptMoments::brought_back() const {
  SecondMoments made = moments_;
  if (!is_away()) return made;
  made.sums_.resize(made.counts_.size() * sums_before(made.width(), made.block_));
  QUADRANT_CHECK(file_->read(place_, std::as_writable_bytes(std::span(made.sums_))));
  return made;
}

Expected<void> KeptMoments::merge(const KeptMoments& other) {
  QUADRANT_CHECK(check_merge(other));
  if (is_away()) {
    QUADRANT_TRY(moments_, brought_back());
    file_ = nullptr;
  }
  if (const SecondMoments* const there = other.in_memory()) return moments_.merge(*there);
  QUADRANT_TRY(const SecondMoments more, other.brought_back());
  return moments_.merge(more);
}

namespace {

// Copies what is below the diagonal of a block to above it, squares that the cache holds at a time.
void mirror_lower(std::span<double> matrix, std::size_t n, std::size_t row) {
  constexpr std::size_t side = 16;
  for (std::size_t top = 0; top < n; top += side) {
    for (std::size_t j = 0; j < std::min(top + side, n); ++j) {
      for (std::size_t i = std::max(top, j + 1); i < std::min(top + side, n); ++i) {
        matrix[j * row + i] = matrix[i * row + j];
      }
    }
  }
}

}  // namespace

std::vector<double> SecondMoments::block_means(std::size_t matrix) const {
  const std::size_t n = width();
  std::vector<double> result(n * block_);
  if (counts_[matrix] == 0) return result;
  const auto sums = triangle(matrix);
  const auto step = steps(matrix);
  const auto count = static_cast<double>(counts_[matrix]);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i - i % block_;
    const auto own = sums.subspan(sums_before(i, block_), i - first + 1);
    for (std::size_t j = 0; j < own.size(); ++j) {
      result[i * block_ + j] = static_cast<double>(own[j]) * (step[i] * step[first + j]) / count;
    }
  }
  for (std::size_t first = 0; first < n; first += block_) {
    mirror_lower(std::span(result).subspan(first * block_), std::min(block_, n - first), block_);
  }
  return result;
}

namespace {

// With zeros outside of blocks, [n, n], of [n, block].
std::vector<double> spread_out(std::vector<double> blocks, std::size_t n, std::size_t block) {
  if (block == n) return blocks;
  std::vector<double> result(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i - i % block;
    for (std::size_t j = first; j < std::min(first + block, n); ++j) {
      result[i * n + j] = blocks[i * block + j - first];
    }
  }
  return result;
}

// Of the first `n` rows and columns, in their place; zeros above the diagonal.
void factorize_block(std::span<double> rows, std::size_t n, std::size_t row, double least) {
  SerialExecutor serial;
  if (n == row) {
    factorize(rows, n, least, serial);
  } else {
    std::vector<double> own(n * n);
    for (std::size_t i = 0; i < n; ++i) std::ranges::copy(rows.subspan(i * row, n), &own[i * n]);
    factorize(own, n, least, serial);
    for (std::size_t i = 0; i < n; ++i) std::copy_n(&own[i * n], n, &rows[i * row]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::ranges::fill(rows.subspan(i * row + i + 1, row - i - 1), 0.0);
  }
}

}  // namespace

std::vector<double> SecondMoments::mean(std::size_t matrix) const {
  return spread_out(block_means(matrix), width(), block_);
}

std::vector<double> SecondMoments::factor(std::size_t matrix, double damping) const {
  return spread_out(block_factor(matrix, damping), width(), block_);
}

std::vector<double> SecondMoments::block_factor(std::size_t matrix, double damping) const {
  const std::size_t n = width();
  std::vector<double> factor = block_means(matrix);
  double unit = 0;  // the mean of the diagonal
  for (std::size_t i = 0; i < n; ++i) {
    unit += factor[i * block_ + i % block_] / static_cast<double>(n);
  }
  const double added = unit == 0 ? 1 : damping * unit;
  for (std::size_t i = 0; i < n; ++i) factor[i * block_ + i % block_] += added;
  for (std::size_t first = 0; first < n; first += block_) {
    const std::size_t size = std::min(block_, n - first);
    factorize_block(std::span(factor).subspan(first * block_, size * block_), size, block_,
                    1e-4 * added);
  }
  return factor;
}

std::vector<float> SecondMoments::relative_diagonal(std::size_t elements) const {
  const std::size_t n = width();
  std::vector<double> means(counts_.size() * n);
  for (std::size_t m = 0; m < counts_.size(); ++m) {
    const auto count = static_cast<double>(std::max<std::int64_t>(counts_[m], 1));
    for (std::size_t c = 0; c < n; ++c) {
      const auto sum = static_cast<double>(triangle(m)[sums_before(c, block_) + c % block_]);
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
