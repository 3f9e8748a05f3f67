// Evidence of what is wrong with values and the codes that they become.
#pragma once

#include <optional>
#include <string>

#include "pipeline/quantized_places.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/diagnose.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct PlaceEvidence {
  CauseKind kind = CauseKind::rounding;
  std::string found{};        ///< in a sentence
  double relative_noise = 0;  ///< power of what rounding and clipping add, by that of the values
};

/// The float values that codes reach; empty where not all have one scale.
[[nodiscard]] Expected<std::optional<FloatRange>> range_of_codes(const UniformType& type);

/// Of values that become codes of `type` while the model runs. `before`: of the float model.
/// `after`: what they are behind the codes; null: not known.
[[nodiscard]] Expected<PlaceEvidence> evidence_of_values(const UniformType& type,
                                                         const TensorStatistics& before,
                                                         const TensorStatistics* after);

/// Of a weight whose codes are of `type`; its channels are along `axis`.
[[nodiscard]] Expected<PlaceEvidence> evidence_of_weight(const QuantizedPlace& place,
                                                         const Quantization& type,
                                                         std::int64_t axis);

}  // namespace quadrant::inline v0
