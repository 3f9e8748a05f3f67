// Kernels that add two neighbouring products in 16 bits, and scales of weights with which those
// sums are exact.
//
// x86's VPMADDUBSW, which integer kernels use on processors without VNNI, multiplies unsigned bytes
// (data) with signed ones (weights) and adds the products two by two, saturating to 16 bits (Intel
// 64 and IA-32 Architectures Software Developer's Manual, volume 2). Data of a sign are shifted by
// 128 first. Two products of one sign that are too large together come out as the largest or
// the smallest number there is; all other sums are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0 {

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

}  // namespace quadrant::inline v0
