// Whether a tensor is what an input of the model takes.
#pragma once

#include "calibration/data_set_inputs.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::data_set {

/// The tensor, converted if `options` ask for it; `invalid_model`, with the remedy, where it does
/// not fit `input`.
[[nodiscard]] Expected<Tensor> fitted(Tensor tensor, const Input& input,
                                      const DataSetOptions& options);

}  // namespace quadrant::inline v0::data_set
