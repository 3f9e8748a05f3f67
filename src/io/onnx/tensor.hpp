// TensorProto: what a tensor is, and where its contents lie.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/onnx/source.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::onnx {

struct Tensor {
  std::string_view name;  ///< into the mapped file
  TensorType type;
  Constant constant;         ///< empty when the type is one that is only carried
  Constant codes;            ///< of float8, which is carried: its bytes, where they are in order
  std::vector<Range> extra;  ///< the fields besides name, dims, data type and contents
  Range name_field;          ///< with its tag; empty when there is none
  bool external = false;     ///< the contents are in another file
};

/// Reads the description of a tensor and checks that its contents are there; does not read them,
/// except to count varints.
[[nodiscard]] Tensor read_tensor(Source& source, Range range);

/// The name alone: for tensors that are carried, in subgraphs.
struct TensorOutline {
  std::string_view name;
  bool external = false;
};
[[nodiscard]] TensorOutline outline_of_tensor(std::string_view file, Range range);

}  // namespace quadrant::inline v0::onnx
