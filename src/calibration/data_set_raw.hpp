// Files of elements and nothing else.
#pragma once

#include <string>

#include "calibration/data_set_inputs.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::data_set {

/// Little-endian elements of the input's type and shape, by rows; 4-bit integers and booleans take
/// a byte each. One extent that the model does not know follows from the size of the file.
[[nodiscard]] Expected<Tensor> read_raw(const std::string& path, const Input& input);

}  // namespace quadrant::inline v0::data_set
