#include "numerics/entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace quadrant::inline v0 {
namespace {

constexpr std::int64_t bins_a_side = 2048;
constexpr double least_share = 1e-8;
constexpr double infinity = std::numeric_limits<double>::infinity();

double information(double count) { return count == 0 ? 0 : count * std::log(count); }

struct Bin {
  std::int64_t index = 0;  ///< of the values around index * width, from -2048 to 2048
  double count = 0;
  double information = 0;  ///< p ln p
};

class Bins {
 public:
  Bins(const Distribution& distribution, double largest)
      : width_(largest / static_cast<double>(bins_a_side)), below_(2 * bins_a_side + 2) {
    for (const WeightedValue& value : distribution.values) {
      below_[at(index_of(value.value)) + 1] += static_cast<double>(value.count);
    }
    for (std::int64_t i = -bins_a_side; i <= bins_a_side; ++i) {
      const double count = below_[at(i) + 1];
      if (count > 0) occupied_.push_back({i, count, information(count)});
      below_[at(i) + 1] += below_[at(i)];
    }
  }

  [[nodiscard]] double width() const noexcept { return width_; }
  [[nodiscard]] std::int64_t index_of(double value) const noexcept {
    return std::clamp(static_cast<std::int64_t>(std::round(value / width_)), -bins_a_side,
                      bins_a_side);
  }
  /// How many values there are in bins `from` to `to`.
  [[nodiscard]] double count(std::int64_t from, std::int64_t to) const noexcept {
    return below_[at(to) + 1] - below_[at(from)];
  }
  /// Those bins `first` to `last` that have values.
  [[nodiscard]] std::span<const Bin> occupied(std::int64_t first,
                                              std::int64_t last) const noexcept {
    const auto from = std::ranges::lower_bound(occupied_, first, {}, &Bin::index);
    return {from, std::ranges::upper_bound(from, occupied_.end(), last, {}, &Bin::index)};
  }

 private:
  [[nodiscard]] static std::size_t at(std::int64_t index) noexcept {
    return static_cast<std::size_t>(index + bins_a_side);
  }

  double width_;
  std::vector<double> below_;  ///< below_[at(i)]: values in the bins before i
  std::vector<Bin> occupied_;
};

// The bins of one code.
struct CodeBins {
  double clipped = 0;      ///< sum of P
  double inside = 0;       ///< sum of Q
  double occupied = 0;     ///< bins where P is not 0
  double information = 0;  ///< sum of p ln p

  // sum p ln(p / q); `floor`: what q is where it is 0.
  [[nodiscard]] double divergence(double floor) const noexcept {
    if (occupied == 0) return 0;
    return information - clipped * std::log(inside == 0 ? floor : inside / occupied);
  }
};

// `first` and `last`, two bins: the outermost of the range that `encoding` is of.
double divergence(const Bins& bins, std::int64_t first, std::int64_t last, const Encoding& encoding,
                  const RoundingProfile& rounding) {
  const double inside = bins.count(first, last);
  if (inside == 0) return infinity;
  const double floor = least_share * inside;
  double sum = 0;
  double all = 0;
  CodeBins of_code;
  std::int64_t code = -1;
  const auto add = [&](const Bin& bin, double clipped) {
    const std::int64_t next =
        quantize_value(static_cast<double>(bin.index) * bins.width(), encoding, rounding);
    if (next != code) {
      sum += of_code.divergence(floor);
      of_code = {};
      code = next;
    }
    of_code.clipped += clipped;
    of_code.inside += bin.count;
    of_code.occupied += 1;
    of_code.information += bin.information;
    all += clipped;
  };
  // The outermost bins have what lies beyond as well, and may have nothing else.
  const auto add_end = [&](std::int64_t index, double clipped) {
    if (clipped > 0) add({index, bins.count(index, index), information(clipped)}, clipped);
  };
  add_end(first, bins.count(-bins_a_side, first));
  for (const Bin& bin : bins.occupied(first + 1, last - 1)) add(bin, bin.count);
  add_end(last, bins.count(last, bins_a_side));
  sum += of_code.divergence(floor);
  return sum / all + std::log(inside / all);
}

}  // namespace

RealRange entropy_range(const Distribution& distribution, const EncodingRule& rule) {
  RealRange best{distribution.min, distribution.max};
  const double largest = std::max(-best.min, best.max);
  if (largest < static_cast<double>(std::numeric_limits<float>::min())) return best;
  const Bins bins(distribution, largest);
  const RealRange all = best;
  const std::int64_t lowest = bins.index_of(std::min(all.min, 0.0));
  const std::int64_t highest = bins.index_of(std::max(all.max, 0.0));
  double least = infinity;
  for (std::int64_t k = bins_a_side; k > 0; --k) {
    const std::int64_t first = std::max(lowest, -k);
    const std::int64_t last = std::min(highest, k);
    if (last - first < steps_of(rule)) break;
    const double threshold = (static_cast<double>(k) + 0.5) * bins.width();
    const RealRange range{std::clamp(all.min, -threshold, threshold),
                          std::clamp(all.max, -threshold, threshold)};
    const double found = divergence(bins, first, last, encoding_of(range, rule), rule.rounding);
    if (!(found < least)) continue;
    least = found;
    best = range;
  }
  return best;
}

}  // namespace quadrant::inline v0
