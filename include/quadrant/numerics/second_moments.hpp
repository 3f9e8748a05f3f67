// Sums of products of a layer's inputs: those that 16 bits hold, and those that weights are rounded
// by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

class ScratchFile;
class SharedRoom;

// Kernels that add two neighbouring products in 16 bits, and scales of weights with which those
// sums are exact.
//
// x86's VPMADDUBSW, which integer kernels use on processors without VNNI, multiplies unsigned bytes
// (data) with signed ones (weights) and adds the products two by two, saturating to 16 bits (Intel
// 64 and IA-32 Architectures Software Developer's Manual, volume 2). Data of a sign are shifted by
// 128 first. Two products of one sign that are too large together come out as the largest or
// the smallest number there is; all other sums are exact.

/// The order in which a kernel walks over the weights that one sum takes: two at a time, the first
/// with the second, the third with the fourth; the last one of an odd number is alone.
struct PairOrder {
  /// Axes of the weight, the last one fastest. The kernel begins anew for each index of all others.
  ///
  ///   a matrix [K, N]               {0}
  ///   a convolution [O, I, H, W]    {2, 3, 1}, where data lie with their channels last
  ///
  /// Empty: it is not known, and any two weights may meet.
  std::vector<std::int64_t> along;

  friend bool operator==(const PairOrder&, const PairOrder&) = default;
};

/// Whether 255 times each of two weights' codes, added, is within 16 bits: codes of the same sign
/// may have magnitudes of 128 together.
[[nodiscard]] constexpr bool is_exact_pair(std::int64_t first, std::int64_t second) noexcept {
  if ((first < 0) != (second < 0)) return true;
  return std::abs(first) + std::abs(second) <= 128;
}

/// The least scales from `scales` on with which every pair of weights is exact in all `orders`, up
/// to .1 %; or, where they lose less squared error, those that make 64 of the largest weight: of
/// `weights`, a constant of any float type, with a scale for the tensor or for each index of an
/// axis, in codes from `min` to `max` without a zero point, as `quantize_value` makes them. Weights
/// that are not finite are left to who quantizes them. A larger scale keeps a pair exact, so that
/// each pair is looked at once. Holds as much of the constant as an order goes through before it
/// begins anew. Where the order is not known, the two largest weights of a sign that share a scale
/// are the pair that counts.
///
/// `impossible`: blocks, an axis that an order goes along, or one that the constant has not; else
/// it fails where reading does. Several threads may call it.
[[nodiscard]] Expected<std::vector<float>> exact_pair_scales(const Constant& weights,
                                                             const Granularity& granularity,
                                                             std::vector<float> scales,
                                                             std::int64_t min, std::int64_t max,
                                                             std::span<const PairOrder> orders);

struct PairCount {
  std::uint64_t pairs = 0;
  std::uint64_t inexact = 0;

  friend bool operator==(const PairCount&, const PairCount&) = default;
};

/// Of `codes`, a constant of int8, in an order that is known. Errors as above.
[[nodiscard]] Expected<PairCount> count_inexact_pairs(const Constant& codes,
                                                      const PairOrder& order);

/// Calls `body` with the places of the two codes of each pair that is not exact.
[[nodiscard]] Expected<void> for_each_inexact_pair(
    const Constant& codes, const PairOrder& order,
    FunctionRef<void(std::size_t first, std::size_t second)> body);

// Second moments of a layer's inputs, by which its weights are rounded.

/// Where the numbers of a weight lie that are multiplied by the same input. Each row is one sum:
///
///   y[m, r] = sum over c of x[m, c] * w[matrices[m] + rows[r] + columns[c]]
///
/// with places in the weight's row-major order. A matrix product has one matrix, or as many as its
/// batch; a convolution one for each of its groups, whose columns are channels and taps.
struct WeightMatrices {
  std::vector<std::int64_t> matrices;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;

  [[nodiscard]] std::size_t element(std::size_t matrix, std::size_t row,
                                    std::size_t column) const noexcept {
    return static_cast<std::size_t>(matrices[matrix] + rows[row] + columns[column]);
  }
  friend bool operator==(const WeightMatrices&, const WeightMatrices&) = default;
};

/// Sums of x x^T over inputs x of a layer, for each matrix of its weight. Each x is rounded to a
/// grid once, 2 * `most_steps` + 1 points for each column, and what is summed are integers: the
/// sums are exact, and so the same for any order of the inputs, on any processor.
///
/// Of all pairs of columns, or of those in the same block of so many neighbours, which takes less
/// memory: moments of others count as 0. Blocks of 1 are the diagonal.
class SecondMoments {
 public:
  /// A block of all columns.
  static constexpr std::size_t whole = std::numeric_limits<std::size_t>::max();
  /// Largest magnitude of an input, in steps.
  static constexpr double most_steps = 32767;
  /// Inputs that a sum has room for.
  static constexpr std::int64_t largest_count = std::int64_t{1} << 33U;

  /// `steps`: of each column of each matrix, matrix by matrix; 0 where all inputs are 0, and for
  /// those that are missing.
  SecondMoments(WeightMatrices layout, std::vector<double> steps, std::size_t block = whole);
  /// With `counts` inputs for each matrix and `sums` of them, as `triangle` has them, matrix by
  /// matrix: to make again what was saved. `invalid_model` for what no inputs give.
  [[nodiscard]] static Expected<SecondMoments> from_sums(WeightMatrices layout,
                                                         std::vector<double> steps,
                                                         std::vector<std::int64_t> counts,
                                                         std::vector<std::int64_t> sums,
                                                         std::size_t block = whole);

  /// Whether a saved grid may have it.
  [[nodiscard]] static bool is_step(double step) noexcept;

  [[nodiscard]] const WeightMatrices& layout() const noexcept { return layout_; }
  [[nodiscard]] std::span<const double> steps(std::size_t matrix) const noexcept;
  /// Columns of a block, of which the last may have fewer: 1 to as many as there are.
  [[nodiscard]] std::size_t block() const noexcept { return block_; }
  /// What `block` is where so many are asked for.
  [[nodiscard]] static std::size_t block_of(const WeightMatrices& layout,
                                            std::size_t asked) noexcept;
  /// Bytes that such sums take.
  [[nodiscard]] static std::uint64_t bytes_of(const WeightMatrices& layout,
                                              std::size_t block = whole) noexcept;

  /// Adds inputs of a matrix: rows of as many numbers as there are columns, each an integer of at
  /// most `most_steps`. `impossible` beyond `largest_count`, for a matrix that there is not, and
  /// for a row that is not whole.
  [[nodiscard]] Expected<void> add(std::size_t matrix, std::span<const double> inputs);
  /// Adds what `other` has, as if its inputs had been added to this. `usage` where the two have not
  /// the same layout, grid and blocks, `impossible` beyond `largest_count`; nothing is added then.
  [[nodiscard]] Expected<void> merge(const SecondMoments& other);
  /// The error of that.
  [[nodiscard]] Expected<void> check_merge(const SecondMoments& other) const;

  /// From now on, moments of inputs that are divided by so much: a positive number for each
  /// channel. Each has as many neighbouring columns, of all matrices one after the other.
  void divide_inputs(std::span<const double> factors);

  /// Inputs that were added to a matrix.
  [[nodiscard]] std::int64_t count(std::size_t matrix) const noexcept { return counts_[matrix]; }
  /// Sums of x_i x_j for j <= i, in steps, row by row, of one block after the other.
  [[nodiscard]] std::span<const std::int64_t> triangle(std::size_t matrix) const noexcept;
  /// E[x x^T], row by row; zeros where nothing was added, and outside of blocks.
  [[nodiscard]] std::vector<double> mean(std::size_t matrix) const;
  /// The same without what is outside: [columns, block()], each row with the columns of its block.
  [[nodiscard]] std::vector<double> block_means(std::size_t matrix) const;
  /// The lower triangle L with L L^T = mean(matrix), to whose diagonal `damping` of its average is
  /// added, row by row; zeros above. An error e of a row of the weight adds |e L|^2 to the layer's
  /// mean squared error. `damping` > 0; of inputs of 0 alone, the identity. n^3 / 3, one thread.
  [[nodiscard]] std::vector<double> factor(std::size_t matrix, double damping) const;
  /// The same without what is outside of blocks, as `block_means` has it.
  [[nodiscard]] std::vector<double> block_factor(std::size_t matrix, double damping) const;
  /// Of each element of the weight, E[x^2] of the input that it is multiplied by, divided by the
  /// mean of that over all elements; zeros where that is 0. `elements`: of the weight, which the
  /// layout fits.
  [[nodiscard]] std::vector<float> relative_diagonal(std::size_t elements) const;

  /// Differs, as a rule, where inputs do.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

 private:
  friend class KeptMoments;
  [[nodiscard]] std::size_t width() const noexcept { return layout_.columns.size(); }
  [[nodiscard]] std::span<std::int64_t> triangle(std::size_t matrix) noexcept;

  WeightMatrices layout_;
  std::vector<double> steps_;
  std::size_t block_ = whole;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> sums_;
};

/// Second moments whose sums may be away, in a file: what is known without them. With them they are
/// what `SecondMomentsTable::load` gives.
class KeptMoments {
 public:
  KeptMoments(SecondMoments moments)  // NOLINT(google-explicit-constructor): they are kept so
      : moments_(std::move(moments)) {}

  [[nodiscard]] const WeightMatrices& layout() const noexcept { return moments_.layout(); }
  [[nodiscard]] std::span<const double> steps(std::size_t matrix) const noexcept {
    return moments_.steps(matrix);
  }
  [[nodiscard]] std::size_t block() const noexcept { return moments_.block(); }
  [[nodiscard]] std::int64_t count(std::size_t matrix) const noexcept {
    return moments_.count(matrix);
  }
  void divide_inputs(std::span<const double> factors) { moments_.divide_inputs(factors); }

  /// The sums go to the end of `file`. `io` where they cannot be written; they stay then.
  [[nodiscard]] Expected<void> put_away(std::shared_ptr<ScratchFile> file);
  [[nodiscard]] bool is_away() const noexcept { return file_ != nullptr; }
  /// Null where they are away.
  [[nodiscard]] const SecondMoments* in_memory() const noexcept {
    return is_away() ? nullptr : &moments_;
  }
  /// With its sums. `io` where they cannot be read.
  [[nodiscard]] Expected<SecondMoments> brought_back() const;

  /// As those of `SecondMoments`, and errors of `brought_back`, with which nothing is added.
  [[nodiscard]] Expected<void> merge(const KeptMoments& other);
  [[nodiscard]] Expected<void> check_merge(const KeptMoments& other) const {
    return moments_.check_merge(other.moments_);
  }

 private:
  SecondMoments moments_;              ///< without sums where those are away
  std::shared_ptr<ScratchFile> file_;  ///< that has the sums; null: they are in memory
  std::uint64_t place_ = 0;            ///< there
};

/// Of the layers of a model.
struct SecondMomentsTable {
  /// By the name of the weight's constant.
  std::map<std::string, KeptMoments, std::less<>> weights;
  /// Some weights are rounded so that they come near to these, of the same extents, in place of
  /// themselves: such as make up for errors in what they are multiplied by.
  std::map<std::string, Constant, std::less<>> aims;
  /// Weights of products that are rounded without: by the names of their constants.
  std::vector<LeftAlone> left;
  std::size_t samples = 0;
  std::string model{};           ///< a note for people: what it was made with
  std::uint64_t model_hash = 0;  ///< that graph's `model_hash`; 0: not known
  /// Memory for weights that are looked at, and rounded, at a time; null: there is enough.
  std::shared_ptr<SharedRoom> room{};

  /// Adds what `other`, of the same model, has seen. A weight that one of them leaves is left, for
  /// the lesser of two reasons; one that only one of them has stays. `samples` that are too many to
  /// count stay at the largest number. Errors name the weight: those of SecondMoments::merge, with
  /// which nothing is added, and of `KeptMoments::brought_back`.
  [[nodiscard]] Expected<void> merge(const SecondMomentsTable& other);
  /// With its sums in memory; null where there are none. Until what it returns goes, null or not,
  /// other threads may wait for `room`, of which it has what rounding by the sums takes, and
  /// `besides`: bytes of what else is computed in that time. Errors name the weight: those of
  /// `KeptMoments::brought_back`.
  [[nodiscard]] Expected<std::shared_ptr<const SecondMoments>> load(
      std::string_view weight, std::uint64_t besides = 0) const;
  /// What is known without its sums; null where there is nothing.
  [[nodiscard]] const KeptMoments* find(std::string_view weight) const {
    const auto found = weights.find(weight);
    return found == weights.end() ? nullptr : &found->second;
  }
};

}  // namespace quadrant::inline v0
