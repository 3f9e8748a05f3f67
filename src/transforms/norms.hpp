// Normalizations that end with a factor, and perhaps a summand, for each channel.
#pragma once

#include <array>

#include "ir/ops/normalization.hpp"

namespace quadrant::inline v0 {

/// Along the last axis, or those from one on.
inline constexpr std::array last_axis_norms{ops::LayerNormalization::kind,
                                            ops::RMSNormalization::kind,
                                            ops::SimplifiedLayerNormalization::kind};

}  // namespace quadrant::inline v0
