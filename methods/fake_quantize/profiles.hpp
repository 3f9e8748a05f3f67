// What the kernels of a target compute on codes: a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "quadrant/ir/storages.hpp"
#include "quadrant/methods/fake_quantize.hpp"

namespace quadrant::inline v0::low_precision {

struct PrecisionRule;

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

extern const Family product_family;     ///< products.cpp: sums in the scale of the products
extern const Family sum_family;         ///< elementwise.cpp: on a grid that is fine for both
extern const Family factor_family;      ///< elementwise.cpp: products of two, and of a constant
extern const Family mean_family;        ///< curves.cpp: sums, in a scale that divides
extern const Family curve_family;       ///< curves.cpp: linear in pieces
extern const Family clamp_family;       ///< curves.cpp: limits
extern const Family same_family;        ///< same.cpp: the codes as they are
extern const Family concat_family;      ///< same.cpp: the codes as they are, side by side
extern const Family float_cast_family;  ///< same.cpp: the codes as they are, of other real numbers

/// One operation of a target.
struct PrecisionRule {
  std::string_view kind;
  const Family* family = nullptr;
  Storages data = {};    ///< types of the codes that are data
  Storages weight = {};  ///< of the codes of the second factor, where that is a constant
};

/// What a target takes, whole.
struct LowPrecisionProfile {
  Storages activations;  ///< what a fake_quantize of data may become
  Storages constants;    ///< of a constant
  std::span<const PrecisionRule> rules;
};

[[nodiscard]] const LowPrecisionProfile& profile(LowPrecisionTarget target) noexcept;
/// Null: the target has no kernel for it on codes.
[[nodiscard]] const PrecisionRule* find_rule(LowPrecisionTarget target,
                                             std::string_view kind) noexcept;

}  // namespace quadrant::inline v0::low_precision
