// What a matrix of small rank makes up for in the codes of a layer's weight.
#pragma once

#include <cstddef>
#include <vector>

#include "calibration/layer_weights.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Whether the layer is x W, W of two axes, so that (x A) B can be added to it.
[[nodiscard]] bool is_plain_product(const Graph& graph, const LayerWeight& layer);

/// Whether factors of that rank are smaller than the weight.
[[nodiscard]] bool pays(const WeightMatrices& layout, std::size_t rank) noexcept;

struct CodedWeight {
  const Constant& wanted;  ///< what its layer should multiply by
  const Constant& coded;   ///< what it multiplies by, as floats
  const WeightMatrices& layout;
  const SecondMoments* moments = nullptr;  ///< null: not known
};

struct LowRankCorrection {
  Constant left;   ///< A, [columns of the layout, rank]
  Constant right;  ///< B, [rank, rows of the layout]
  /// Sums over rows of e E[x x^T] e^T, e being what the row is off; without moments, of |e|^2.
  double before = 0;
  double after = 0;
};

/// Factors of `element`, whose product with A B is nearest to what is missing. Errors are those of
/// `low_rank_factors` and of reading.
[[nodiscard]] Expected<LowRankCorrection> low_rank_correction(const CodedWeight& weight,
                                                              std::size_t rank,
                                                              ElementType element);

/// The coded weight, A B included, as floats of `coded`'s type.
[[nodiscard]] Expected<Constant> with_correction(const CodedWeight& weight,
                                                 const LowRankCorrection& correction);

}  // namespace quadrant::inline v0
