// A tensor in a file of its own, as ONNX's test data has them: a TensorProto, usually `.pb`.
#pragma once

#include <string>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Reads the tensor whole, of any element type that the library reads. Errors: `io` when the file
/// cannot be read; `invalid_model` with byte offset when it is no such tensor, or one of another
/// type.
[[nodiscard]] Expected<Tensor> read_onnx_tensor(const std::string& path);

}  // namespace quadrant::inline v0
