// What a matrix of small rank makes up for in the codes of a layer's weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "calibration/layer_weights.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Why (x A) B cannot be added to the layer; empty where it is x W, W of two axes.
[[nodiscard]] std::string_view why_no_factors(const Graph& graph, const LayerWeight& layer);

/// What factors are asked for.
struct WantedFactors {
  const Graph& real;  ///< the float model
  const LayerWeight& layer;
  std::size_t rank = 0;
  /// Of the inputs of the model's layers, and what codes were to be near to; null: not known.
  const SecondMomentsTable* moments = nullptr;
};

/// Bytes that such factors take in a file.
[[nodiscard]] std::uint64_t bytes_of(const WantedFactors& wanted);

/// Whether that is less than the weight takes as floats, which have no error at all.
[[nodiscard]] bool pays(const WantedFactors& wanted);

struct LowRankCorrection {
  Constant left;   ///< A, [columns of the layout, rank]
  Constant right;  ///< B, [rank, rows of the layout]
  /// Sums over rows of e E[x x^T] e^T, e being what the row is off; without moments, of |e|^2.
  double before = 0;
  double after = 0;
};

/// Factors whose product is nearest to what `coded`, the weight's codes as floats, miss, in the
/// floats that the layer computes in; nothing where those come no nearer. Memory, in doubles, of
/// which the moments' room, if they have one, gives a share before `coded` is asked for: three
/// times the weight, `coded` included; four n^2 for the lesser n of its extents; and with moments
/// 1.5 for each pair of columns that these have. Errors are those of `low_rank_factors`, of reading
/// and of `SecondMomentsTable::load`.
[[nodiscard]] Expected<std::optional<LowRankCorrection>> low_rank_correction(
    const WantedFactors& wanted, FunctionRef<Expected<Constant>()> coded);

/// The coded weight, A B included, as floats of `coded`'s type.
[[nodiscard]] Expected<Constant> with_correction(const Constant& coded,
                                                 const WeightMatrices& layout,
                                                 const LowRankCorrection& correction);

}  // namespace quadrant::inline v0
