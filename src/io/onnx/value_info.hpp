// ValueInfoProto: the name and type of a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/onnx/wire.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::onnx {

struct ValueInfo {
  std::string_view name;
  TensorType type;         ///< undefined where it is no tensor, or not stated
  bool is_tensor = false;  ///< false for sequences, maps, optionals and what has no type
};

[[nodiscard]] ValueInfo read_value_info(std::string_view file, Range range);

/// The type that both say together; empty when they contradict.
[[nodiscard]] std::optional<TensorType> merged(const TensorType& a, const TensorType& b);

/// A ValueInfoProto. Unknown extents are left open; an unknown type is left out.
[[nodiscard]] std::string make_value_info(std::string_view name, const TensorType& type);

}  // namespace quadrant::inline v0::onnx
