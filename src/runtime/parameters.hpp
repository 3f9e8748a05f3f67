// What an operation is told besides its data: axes and lists of integers, from attributes and from
// operands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

/// The elements of a tensor of int32 or int64, whatever its shape is.
[[nodiscard]] Expected<std::vector<std::int64_t>> integers_of(const Tensor& tensor);

/// The elements of a tensor of floats; float16 and bfloat16 too.
[[nodiscard]] Expected<std::vector<double>> reals_of(const Tensor& tensor);

/// The integer of a tensor that holds one; the attribute where the operand is absent; else empty.
[[nodiscard]] Expected<std::optional<std::int64_t>> integer_parameter(const KernelCall& call,
                                                                      std::size_t operand,
                                                                      std::string_view attribute);

/// The attribute; empty where there is none.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_attribute(const KernelCall& call,
                                                                          std::string_view name);

/// The integers of the operand; those of the attribute where it is absent; else empty.
[[nodiscard]] Expected<std::optional<std::vector<std::int64_t>>> integers_parameter(
    const KernelCall& call, std::size_t operand, std::string_view attribute);

/// `axis`, counted from the end when negative, as an index below `rank`.
[[nodiscard]] Expected<std::int64_t> axis_below(std::int64_t axis, std::int64_t rank);

/// The attribute `axis`, as above.
[[nodiscard]] Expected<std::int64_t> axis_attribute(const KernelCall& call, std::int64_t fallback,
                                                    std::int64_t rank);

/// All of `axes` as indices below `rank`; refused where one is there twice.
[[nodiscard]] Expected<std::vector<std::int64_t>> axes_below(std::vector<std::int64_t> axes,
                                                             std::int64_t rank);

/// 0 up to `rank`.
[[nodiscard]] std::vector<std::int64_t> all_axes(std::int64_t rank);

/// Refuses an operand that is absent.
[[nodiscard]] Expected<void> require_operands(const KernelCall& call, std::size_t count);

/// The extents of `shape` from axis `first` up to, not including, `last`.
[[nodiscard]] std::vector<std::int64_t> extents_between(const Shape& shape, std::int64_t first,
                                                        std::int64_t last);

/// Their product. Of a tensor that was made, so that it does not overflow, unless it has no
/// elements: then some number.
[[nodiscard]] std::int64_t count_between(const Shape& shape, std::int64_t first, std::int64_t last);

}  // namespace quadrant::inline v0
