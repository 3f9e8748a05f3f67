// What the lists of integers that an operation is given say: in an attribute in older versions of
// ONNX, in a small constant operand in newer ones. Typed views and shape rules read them here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::detail {

/// Tensors of more dimensions exist in hostile files only. Not following them keeps inference
/// linear.
inline constexpr std::int64_t largest_rank = 64;

/// A list that may be left out, or be computed while the model runs.
struct IntegerList {
  enum class State : std::uint8_t { missing, computed, known };
  State state = State::missing;
  std::vector<std::int64_t> values;

  [[nodiscard]] bool is_computed() const noexcept { return state == State::computed; }
  /// No list, or an empty one.
  [[nodiscard]] bool is_empty() const noexcept { return !is_computed() && values.empty(); }
};

/// The attribute where the node has it, else the operand, where it is a constant or follows from
/// shapes; a list longer than `limit` counts as computed. A single integer is a list of one. An
/// error for an attribute or an operand that holds no such list, or cannot be read.
[[nodiscard]] Expected<IntegerList> integer_list(NodeRef node, std::string_view attribute,
                                                 std::size_t operand,
                                                 std::int64_t limit = largest_rank);

/// The elements that a slice takes of an axis of that extent; empty where ONNX and its runtimes say
/// different things. `step` is not 0.
[[nodiscard]] std::optional<ops::Slice::Range> slice_range(std::int64_t extent, std::int64_t start,
                                                           std::int64_t end, std::int64_t step);

/// The elements that ops::Slice takes along each axis of a `shape` that is ranked; empty for an
/// axis about which that is not known. https://onnx.ai/onnx/operators/onnx__Slice.html
[[nodiscard]] Expected<std::vector<std::optional<ops::Slice::Range>>> slice_ranges(
    NodeRef node, const Shape& shape);

/// The extents into which ops::Split divides an `extent`, one for each result; open where
/// they are not known.
/// https://onnx.ai/onnx/operators/onnx__Split.html
[[nodiscard]] Expected<std::vector<Extent>> split_sizes(NodeRef node, Extent extent);

/// The equation of ops::Einsum; empty for one that is not followed (an ellipsis, a label that one
/// operand has twice), an error for what is no equation.
/// https://onnx.ai/onnx/operators/onnx__Einsum.html
[[nodiscard]] Expected<std::optional<ops::Einsum::Equation>> einsum_equation(NodeRef node);

}  // namespace quadrant::inline v0::detail
