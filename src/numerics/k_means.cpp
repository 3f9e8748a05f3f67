#include "numerics/k_means.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t most_exact = std::size_t{1} << 20U;

// Sums over the first i points: around a centre, so that differences keep their digits.
class PrefixSums {
 public:
  explicit PrefixSums(double centre) : centre_(centre), sums_(1) {}

  void append(double value, double weight) {
    const double moved = value - centre_;
    Sums next = sums_.back();
    next.weight += weight;
    next.sum += weight * moved;
    next.power += weight * moved * moved;
    sums_.push_back(next);
  }
  [[nodiscard]] std::size_t size() const noexcept { return sums_.size() - 1; }
  // Of one cluster.
  [[nodiscard]] double cost(std::size_t begin, std::size_t end) const noexcept {
    const double weight = sums_[end].weight - sums_[begin].weight;
    const double sum = sums_[end].sum - sums_[begin].sum;
    const double power = sums_[end].power - sums_[begin].power;
    return weight > 0 ? std::max(power - sum * sum / weight, 0.0) : 0.0;
  }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const noexcept {
    const double weight = sums_[end].weight - sums_[begin].weight;
    const double sum = sums_[end].sum - sums_[begin].sum;
    return centre_ + (weight > 0 ? sum / weight : 0);
  }

 private:
  struct Sums {
    double weight = 0;
    double sum = 0;
    double power = 0;
  };
  double centre_;
  std::vector<Sums> sums_;
};

// The least costs of the prefixes of a stretch, or of its suffixes.
class Layers {
 public:
  Layers(const PrefixSums& sums, std::size_t begin, std::size_t end, bool backward)
      : sums_(sums), begin_(begin), end_(end), backward_(backward) {}

  // costs[i]: of the i first points, or last ones, in `clusters`.
  void run(std::size_t clusters, std::vector<double>& costs) {
    const std::size_t size = end_ - begin_;
    costs.resize(size + 1);
    for (std::size_t i = 0; i <= size; ++i) costs[i] = cost(0, i);
    for (std::size_t done = 1; done < clusters; ++done) {
      last_.swap(costs);
      costs.resize(size + 1);
      add_cluster(costs);
    }
  }

 private:
  [[nodiscard]] double cost(std::size_t from, std::size_t to) const noexcept {
    return backward_ ? sums_.cost(end_ - to, end_ - from) : sums_.cost(begin_ + from, begin_ + to);
  }

  // From every second prefix to those between: the best border of each lies between its
  // neighbours'.
  void add_cluster(std::vector<double>& costs) {
    const std::size_t size = end_ - begin_;
    borders_.assign(size + 1, 0);
    for (std::size_t step = std::bit_ceil(size + 1); step > 0; step /= 2) {
      for (std::size_t i = step == std::bit_ceil(size + 1) ? 0 : step; i <= size; i += 2 * step) {
        const std::size_t low = i >= step ? borders_[i - step] : 0;
        const std::size_t high =
            std::min<std::size_t>(i + step <= size ? borders_[i + step] : i, i);
        double least = std::numeric_limits<double>::infinity();
        auto best = static_cast<std::uint32_t>(low);
        for (std::size_t border = low; border <= high; ++border) {
          const double sum = last_[border] + cost(border, i);
          if (sum < least) {
            least = sum;
            best = static_cast<std::uint32_t>(border);
          }
        }
        costs[i] = least;
        borders_[i] = best;
      }
    }
  }

  const PrefixSums& sums_;
  std::size_t begin_;
  std::size_t end_;
  bool backward_;
  std::vector<double> last_;
  std::vector<std::uint32_t> borders_;
};

struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t clusters = 0;
};

}  // namespace

MeansOnALine means_on_a_line(std::span<const float> values, std::span<const float> weights,
                             std::size_t count) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](std::uint32_t i) { return !(weights[i] > 0); });
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return values[i]; });

  MeansOnALine result;
  if (order.empty()) {
    result.means.assign(count, 0);
    return result;
  }
  const auto value_at = [&](std::size_t i) { return static_cast<double>(values[order[i]]); };
  const auto weight_at = [&](std::size_t i) { return static_cast<double>(weights[order[i]]); };
  const double centre = value_at(order.size() / 2);
  PrefixSums sums(centre);
  double joining = 0;
  const std::size_t at_once = (order.size() + most_exact - 1) / most_exact;
  for (std::size_t begin = 0; begin < order.size(); begin += at_once) {
    PrefixSums bin(centre);
    const std::size_t end = std::min(begin + at_once, order.size());
    double weight = 0;
    for (std::size_t i = begin; i < end; ++i) {
      bin.append(value_at(i), weight_at(i));
      weight += weight_at(i);
    }
    if (at_once > 1) joining += bin.cost(0, bin.size());
    sums.append(at_once == 1 ? value_at(begin) : bin.mean(0, bin.size()), weight);
  }

  double least = 0;
  std::vector<Stretch> open{{0, sums.size(), count}};
  std::vector<double> forward;
  std::vector<double> backward;
  while (!open.empty()) {
    const Stretch stretch = open.back();
    open.pop_back();
    if (stretch.clusters == 1 || stretch.end - stretch.begin <= 1) {
      const double cost = sums.cost(stretch.begin, stretch.end);
      least += cost;
      double mean = result.means.empty() ? value_at(0) : result.means.back();
      if (stretch.end > stretch.begin) mean = sums.mean(stretch.begin, stretch.end);
      result.means.insert(result.means.end(), stretch.clusters, mean);
      continue;
    }
    const std::size_t first = stretch.clusters / 2;
    Layers(sums, stretch.begin, stretch.end, false).run(first, forward);
    Layers(sums, stretch.begin, stretch.end, true).run(stretch.clusters - first, backward);
    const std::size_t size = stretch.end - stretch.begin;
    std::size_t border = 0;
    for (std::size_t i = 1; i <= size; ++i) {
      if (forward[i] + backward[size - i] < forward[border] + backward[size - border]) border = i;
    }
    // The lower one first.
    open.push_back({stretch.begin + border, stretch.end, stretch.clusters - first});
    open.push_back({stretch.begin, stretch.begin + border, first});
  }
  const double root = std::max(std::sqrt(least) - std::sqrt(joining), 0.0);
  result.bound = at_once == 1 ? least : root * root;
  return result;
}

}  // namespace quadrant::inline v0
