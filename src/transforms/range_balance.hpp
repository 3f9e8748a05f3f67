// The arithmetic of cross-layer equalization, without the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transforms/linear_layer.hpp"

namespace quadrant::inline v0 {

/// Layers, of which some follow one another, and a factor s for each channel between two.
class RangeBalance {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// `magnitudes` are the largest |w| of each row of the layout. Returns its index.
  std::size_t add_layer(const WeightLayout& layout, std::vector<double> magnitudes);
  /// `first`'s output channels are runs of `repeat` input channels of `second`. No s of channel i
  /// will be below `lowest[i]` or above `highest`. Pairs are indexed in the order in which they
  /// come.
  void add_pair(std::size_t first, std::size_t second, std::int64_t repeat,
                std::vector<double> lowest, double highest);

  /// Equalizes each pair, or triple around a depthwise layer, once. Returns the largest factor,
  /// less 1, by which an s changed.
  double run_round();

  [[nodiscard]] const std::vector<double>& scales(std::size_t pair) const {
    return pairs_[pair].scales;
  }
  /// What the weights of each output and of each input channel of the layer are multiplied by.
  struct Factors {
    std::vector<double> of_output;
    std::vector<double> of_input;
  };
  [[nodiscard]] Factors factors(std::size_t layer) const;

 private:
  struct Layer {
    WeightLayout layout;
    std::vector<double> magnitudes;
    std::size_t before = none;  ///< the pair whose second it is
    std::size_t behind = none;  ///< the pair whose first it is
  };
  struct Pair {
    std::size_t first = 0;
    std::size_t second = 0;
    std::size_t repeat = 1;
    std::vector<double> scales;
    std::vector<double> lowest;
    double highest = 1;
  };

  /// As scaled by now, one for each channel of the pair.
  [[nodiscard]] std::vector<double> ranges_of_first(const Pair& pair) const;
  [[nodiscard]] std::vector<double> ranges_of_second(const Pair& pair) const;
  double equalize_pair(Pair& pair);
  double equalize_triple(Pair& before, Pair& behind);
  [[nodiscard]] bool is_middle(std::size_t layer) const;

  std::vector<Layer> layers_;
  std::vector<Pair> pairs_;
};

}  // namespace quadrant::inline v0
