// Counts in many bins, in as little memory as they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace quadrant::inline v0 {

/// How often each of 8192 bins was met. Bins lie in pages of 256, which take memory once one of
/// theirs was met, with counters as wide as the largest of the page needs: 1, 2, 4 or 8 bytes. A
/// plain value; equal where the counts are.
class BinCounts {
 public:
  static constexpr std::size_t bins = 8192;

  void add(std::size_t bin, std::uint64_t count);
  /// Of all bins.
  void add(std::span<const std::uint32_t> counts);
  void add(std::span<const std::uint64_t> counts);
  /// Bin i becomes part of bin i / 2^shift.
  void coarsen(unsigned shift);

  [[nodiscard]] bool is_empty() const noexcept { return pages_.empty(); }
  /// Of all bins.
  [[nodiscard]] std::vector<std::uint64_t> all() const;
  /// Bytes of memory, beside those of the object itself.
  [[nodiscard]] std::size_t memory() const noexcept;

  friend bool operator==(const BinCounts&, const BinCounts&) = default;

 private:
  static constexpr std::size_t page_bins = 256;
  /// No counters: the bins were not met.
  using Page = std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>,
                            std::vector<std::uint32_t>, std::vector<std::uint64_t>>;

  /// Counters that hold up to `largest`.
  static void make_room(Page& page, std::uint64_t largest);
  template <class Count>
  void add_all(std::span<const Count> counts);

  std::vector<Page> pages_;  // none, or for all bins
};

}  // namespace quadrant::inline v0
