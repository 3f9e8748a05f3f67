// What the kernels of a target compute on codes: a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "quadrant/methods/fake_quantize.hpp"
#include "targets/kernels/openvino.hpp"

namespace quadrant::inline v0::low_precision {

using target_kernels::openvino::LowPrecisionProfile;
using target_kernels::openvino::PrecisionFamily;
using target_kernels::openvino::PrecisionRule;

/// What an operation makes of the codes of its operands. `forms`: an operand each, null for real
/// numbers and for what is no form that is known.
using Forms = std::span<const GivenForm* const>;
using Follow = PendingDequantize (*)(NodeRef node, const PrecisionRule& rule, Forms forms);

/// How an operation of a family goes on with what was dequantized.
struct Family {
  std::string_view name;
  std::string_view result;  ///< for people
  std::size_t operands;     ///< how many an operation of it has at least
  Follow follow;
  /// A constant operand that is added to the sum, and becomes codes of it; empty: none.
  std::optional<std::uint32_t> (*term)(NodeRef node) = nullptr;
  /// Whether a result in its own form is the operand's codes, bit by bit.
  bool only_renames = false;
};

extern const Family product_family;     ///< products.cpp
extern const Family sum_family;         ///< elementwise.cpp
extern const Family factor_family;      ///< elementwise.cpp
extern const Family mean_family;        ///< curves.cpp
extern const Family curve_family;       ///< curves.cpp
extern const Family clamp_family;       ///< curves.cpp
extern const Family same_family;        ///< same.cpp
extern const Family concat_family;      ///< same.cpp
extern const Family float_cast_family;  ///< same.cpp
[[nodiscard]] const Family& family_of(const PrecisionRule& rule) noexcept;

[[nodiscard]] const LowPrecisionProfile& profile(KernelsTarget target) noexcept;
/// Null: the target has no kernel for it on codes.
[[nodiscard]] const PrecisionRule* find_rule(KernelsTarget target, std::string_view kind) noexcept;

}  // namespace quadrant::inline v0::low_precision
