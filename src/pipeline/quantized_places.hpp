// Where a model rounds to codes, and the same model with some of these places exact.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A value that is quantized while the model runs, or a weight that was.
struct QuantizedPlace {
  std::string name;      ///< of its float values
  Value codes;           ///< in the model that is spelled out
  Value real{};          ///< what becomes codes there; absent: a weight
  Constant weight{};     ///< of a weight: what it is in the float model
  Constant as_stored{};  ///< of a weight: its codes
  /// Of float values: those that the float model has, behind all limits, a Relu say, that codes do
  /// the work of.
  std::optional<FloatRange> limits{};

  [[nodiscard]] bool is_weight() const noexcept { return real.is_absent(); }
};

/// The model with real inputs and outputs, on which operators alone quantize and dequantize, and
/// with all constants in memory.
[[nodiscard]] Expected<Graph> spelled_out(Graph quantized);

/// The float model with its constants computed and, unless `quantized` has them still, its
/// normalizations folded, which keeps names: so far as that goes, as it was when it was quantized.
[[nodiscard]] Expected<Graph> as_it_was_quantized(Graph real, const Graph& quantized);

/// All of `quantized`, which is spelled out, that can be made exact, producers first. Weights are
/// among them that `real` has too: of the same name, shape and type, and not another one's numbers.
/// Biases in the scale of their products are as good as exact, and left out. `left_alone`: weights
/// of the same name, shape and type whose numbers are too far from those of `real`, or no float32.
[[nodiscard]] Expected<std::vector<QuantizedPlace>> find_places(const Graph& quantized,
                                                                const Graph& real,
                                                                std::vector<LeftAlone>& left_alone);

/// All who read the place get float values that were never codes, within its limits; what moves
/// codes moves these.
void make_exact(Graph& quantized, const QuantizedPlace& place);

}  // namespace quadrant::inline v0
