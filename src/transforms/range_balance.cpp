#include "transforms/range_balance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrant::inline v0 {

namespace {

// Also for float64 all products of three ranges and their quotients are numbers.
bool is_range(double value) { return value > 1e-90 && value < 1e90; }

// Multiplies `scale` by `factor`, within bounds; how much that changed it.
double scale_by(double& scale, double factor, double lowest, double highest) {
  const double scaled = std::clamp(scale * factor, lowest, highest);
  const double change = scaled / std::exchange(scale, scaled);
  return std::max(change, 1 / change) - 1;
}

}  // namespace

std::size_t RangeBalance::add_layer(const WeightLayout& layout, std::vector<double> magnitudes) {
  layers_.push_back({.layout = layout, .magnitudes = std::move(magnitudes)});
  return layers_.size() - 1;
}

void RangeBalance::add_pair(std::size_t first, std::size_t second, std::int64_t repeat,
                            std::vector<double> lowest, double highest) {
  layers_[first].behind = layers_[second].before = pairs_.size();
  const std::size_t channels = lowest.size();
  pairs_.push_back({.first = first,
                    .second = second,
                    .repeat = static_cast<std::size_t>(repeat),
                    .scales = std::vector<double>(channels, 1),
                    .lowest = std::move(lowest),
                    .highest = highest});
}

RangeBalance::Factors RangeBalance::factors(std::size_t layer) const {
  const auto& [layout, magnitudes, before, behind] = layers_[layer];
  Factors result{.of_output = std::vector<double>(static_cast<std::size_t>(layout.outputs()), 1),
                 .of_input = std::vector<double>(static_cast<std::size_t>(layout.inputs()), 1)};
  if (before != none) {
    for (std::size_t i = 0; i < result.of_input.size(); ++i) {
      result.of_input[i] = pairs_[before].scales[i / pairs_[before].repeat];
    }
  }
  if (behind != none) {
    for (std::size_t i = 0; i < result.of_output.size(); ++i) {
      result.of_output[i] = 1 / pairs_[behind].scales[i];
    }
  }
  return result;
}

std::vector<double> RangeBalance::ranges_of_first(const Pair& pair) const {
  const Layer& layer = layers_[pair.first];
  const Factors factor = factors(pair.first);
  std::vector<double> ranges(pair.scales.size());
  layer.layout.for_each_row([&](std::size_t output, std::size_t input, std::size_t row) {
    ranges[output] = std::max(ranges[output], layer.magnitudes[row] * factor.of_input[input]);
  });
  for (std::size_t c = 0; c < ranges.size(); ++c) ranges[c] *= factor.of_output[c];
  return ranges;
}

std::vector<double> RangeBalance::ranges_of_second(const Pair& pair) const {
  const Layer& layer = layers_[pair.second];
  const Factors factor = factors(pair.second);
  std::vector<double> by_input(factor.of_input.size());
  layer.layout.for_each_row([&](std::size_t output, std::size_t input, std::size_t row) {
    by_input[input] = std::max(by_input[input], layer.magnitudes[row] * factor.of_output[output]);
  });
  std::vector<double> ranges(pair.scales.size());
  for (std::size_t i = 0; i < by_input.size(); ++i) {
    double& range = ranges[i / pair.repeat];
    range = std::max(range, by_input[i] * factor.of_input[i]);
  }
  return ranges;
}

double RangeBalance::equalize_pair(Pair& pair) {
  const std::vector<double> r1 = ranges_of_first(pair);
  const std::vector<double> r2 = ranges_of_second(pair);
  double change = 0;
  for (std::size_t c = 0; c < r1.size(); ++c) {
    if (!is_range(r1[c]) || !is_range(r2[c])) continue;
    change = std::max(
        change, scale_by(pair.scales[c], std::sqrt(r1[c] / r2[c]), pair.lowest[c], pair.highest));
  }
  return change;
}

double RangeBalance::equalize_triple(Pair& before, Pair& behind) {
  const std::vector<double> r1 = ranges_of_first(before);
  const std::vector<double> r2 = ranges_of_second(before);
  const std::vector<double> r3 = ranges_of_second(behind);
  double change = 0;
  for (std::size_t c = 0; c < r1.size(); ++c) {
    if (!is_range(r1[c]) || !is_range(r2[c]) || !is_range(r3[c])) continue;
    const double g = std::cbrt(r1[c] * r2[c] * r3[c]);
    change =
        std::max({change, scale_by(before.scales[c], r1[c] / g, before.lowest[c], before.highest),
                  scale_by(behind.scales[c], g / r3[c], behind.lowest[c], behind.highest)});
  }
  return change;
}

bool RangeBalance::is_middle(std::size_t layer) const {
  const auto& [layout, magnitudes, before, behind] = layers_[layer];
  return layout.is_depthwise() && before != none && behind != none && pairs_[before].repeat == 1;
}

double RangeBalance::run_round() {
  double change = 0;
  for (Pair& pair : pairs_) {
    if (is_middle(pair.second)) {
      change = std::max(change, equalize_triple(pair, pairs_[layers_[pair.second].behind]));
    } else if (!is_middle(pair.first)) {
      change = std::max(change, equalize_pair(pair));
    }
  }
  return change;
}

}  // namespace quadrant::inline v0
