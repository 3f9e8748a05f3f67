// Constants of any size, read and computed in pieces of bounded size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Elements in a piece: its float32 values and what is computed from them stay in the second-level
/// cache (128 KiB and up to as much again).
inline constexpr std::size_t piece_elements = std::size_t{1} << 15;

/// The size of the piece that starts at `first`, of `count` elements in all.
[[nodiscard]] inline std::size_t piece_size(std::int64_t first, std::int64_t count) noexcept {
  return static_cast<std::size_t>(
      std::min<std::int64_t>(count - first, static_cast<std::int64_t>(piece_elements)));
}

/// Runs of numbers, each `stride` behind the one before.
struct FloatRuns {
  const float* first = nullptr;
  std::size_t stride = 0;

  [[nodiscard]] FloatRuns from(std::size_t run) const noexcept {
    return {first + run * stride, stride};
  }
};

/// Reads a constant of any float type as float32: where it lies, if it is float32, aligned, and in
/// memory or in a file that can be mapped, which happens some megabytes at a time; others are
/// widened or copied from there. One reader a thread.
class FloatReader {
 public:
  explicit FloatReader(const Constant& constant)
      : FloatReader(constant, constant.element_count()) {}
  /// For the elements before `end` alone.
  FloatReader(const Constant& constant, std::int64_t end)
      : constant_(constant),
        width_(static_cast<std::size_t>(byte_width(constant.element()))),
        end_(static_cast<std::uint64_t>(end) * width_) {}

  /// `count` elements from `first` on, inside the constant; valid until the next read.
  [[nodiscard]] Expected<std::span<const float>> read(std::int64_t first, std::size_t count);

  /// `count` runs of `length` elements, `step` apart from `first` on; valid until the next read.
  [[nodiscard]] Expected<FloatRuns> read_runs(std::int64_t first, std::int64_t step,
                                              std::size_t length, std::size_t count);

 private:
  // Where so many elements lie; null if that is not in memory.
  [[nodiscard]] const std::byte* seen(std::int64_t first, std::size_t count);
  // Those that lie at `bytes`, as float32.
  [[nodiscard]] const float* widened(const std::byte* bytes, std::size_t count);

  const Constant& constant_;
  std::size_t width_;
  std::uint64_t end_;  ///< in bytes
  bool can_view_ = true;
  ConstantBytes view_;  ///< of the bytes from `view_begin_` on
  std::uint64_t view_begin_ = 0;
  std::vector<float> values_;
  std::vector<std::byte> raw_;
};

/// The first of `values` that is NaN or infinite; `first` is the index of values[0] in its
/// constant.
[[nodiscard]] std::optional<NonFinite> first_non_finite(std::span<const float> values,
                                                        std::int64_t first);

/// Just behind the last element, of `width` bytes each, that has a byte among `size` from `offset`.
[[nodiscard]] inline std::int64_t end_of(std::uint64_t offset, std::size_t size,
                                         std::size_t width) noexcept {
  return static_cast<std::int64_t>((offset + size + width - 1) / width);
}

/// Fills `out` with the bytes from `offset` on of a constant that is computed element by element.
/// `compute(first, count)` returns the bytes of at most `piece_elements` elements, of `width` bytes
/// each. Neither end of `out` need be the start of an element.
template <class Compute>
[[nodiscard]] Expected<void> read_computed(std::uint64_t offset, std::span<std::byte> out,
                                           std::size_t width, Compute compute) {
  while (!out.empty()) {
    const auto skip = static_cast<std::size_t>(offset % width);
    const std::size_t wanted = (skip + out.size() - 1) / width + 1;
    QUADRANT_TRY(
        const std::span<const std::byte> bytes,
        compute(static_cast<std::int64_t>(offset / width), std::min(wanted, piece_elements)));
    const std::size_t taken = std::min(bytes.size() - skip, out.size());
    std::memcpy(out.data(), bytes.data() + skip, taken);
    out = out.subspan(taken);
    offset += taken;
  }
  return {};
}

}  // namespace quadrant::inline v0
