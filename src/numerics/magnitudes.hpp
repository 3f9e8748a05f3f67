// The values on one side of zero, sorted, with the sums that a search asks for again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrant::inline v0 {

/// Magnitudes in ascending order, each with how often it occurs.
class Magnitudes {
 public:
  /// Sums over the largest of them.
  struct Tail {
    double count = 0;
    double sum = 0;
    double power = 0;  ///< sum of the squares

    /// Sum of (w - level)^2.
    [[nodiscard]] double error_of(double level) const noexcept {
      return power - 2 * level * sum + level * level * count;
    }
  };
  /// A = sum w q, B = sum q^2: where values w have codes q.
  struct Moments {
    double a = 0;
    double b = 0;
  };

  void clear() noexcept;
  /// The next one; not smaller than the one before.
  void append(double magnitude, double count);
  /// Takes the sums; after the last `append`.
  void finish();

  [[nodiscard]] std::size_t size() const noexcept { return magnitudes_.size(); }
  [[nodiscard]] const Tail& all() const noexcept { return tails_.front(); }
  /// Those larger than `bound`.
  [[nodiscard]] const Tail& above(double bound) const noexcept {
    return tails_[first_above(bound, 0)];
  }
  /// When each has the code nearest to w / scale, `limit` at most.
  [[nodiscard]] Moments moments(double scale, std::int64_t limit) const noexcept;

 private:
  // Of those from `start` on; for bounds near it, it looks near it.
  [[nodiscard]] std::size_t first_above(double bound, std::size_t start) const noexcept;

  std::vector<double> magnitudes_;
  std::vector<Tail> tails_;  ///< tails_[i]: from magnitude i on; one more than magnitudes
};

}  // namespace quadrant::inline v0
