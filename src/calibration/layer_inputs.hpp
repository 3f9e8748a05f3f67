// What of the inputs of layers counts for the moments of a weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/layer_weights.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A layer that reads a weight.
struct LayerReader {
  LayerWeight weight;
  std::optional<LayerProbe> probe;
  std::unique_ptr<ModelExecutor> layer;  ///< of the probe
};

/// A weight, and what is known of its inputs so far.
struct WatchedWeight {
  std::string name;
  std::vector<LayerReader> readers;
  std::size_t block = SecondMoments::whole;  ///< of the moments
  std::vector<double> largest;               ///< magnitude, of each column of each matrix
  std::unique_ptr<SecondMoments> moments;
  std::uint64_t cut = 0;  ///< numbers of inputs that the grid does not reach
  std::string why_not;    ///< there are none
  std::mutex mutex;       ///< of all of these but for the readers

  [[nodiscard]] const WeightMatrices& layout() const { return readers.front().weight.layout; }
  /// For the least of the reasons that samples give, whichever came first.
  void leave(std::string reason) {
    if (why_not.empty() || reason < why_not) why_not = std::move(reason);
  }
};

/// What a layer computes on in a sample.
struct LayerData {
  const Tensor& tensor;
  std::vector<double> reals;
};

/// Why inputs that a layer has in a sample are not those of its weight; null: they are.
[[nodiscard]] const char* unfit(const LayerWeight& weight, const LayerData& data);

/// Takes down the largest magnitudes.
[[nodiscard]] Expected<void> reach(WatchedWeight& watched, const LayerReader& reader,
                                   const LayerData& data);

/// Adds rows, or columns, of the matrices of a batch, `most` of them at most, of data that are fit.
[[nodiscard]] Expected<void> add_matrices(WatchedWeight& watched, const LayerWeight& weight,
                                          const LayerData& data, std::int64_t most);
/// Adds positions of what the probe of a convolution makes: [batch, matrices * columns,
/// positions...].
[[nodiscard]] Expected<void> add_positions(WatchedWeight& watched, const Tensor& patches,
                                           std::int64_t most);

}  // namespace quadrant::inline v0
