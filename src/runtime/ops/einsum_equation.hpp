// The equation of an einsum, in full: with ellipses and labels that occur more than once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::interpreted {

/// An axis: a letter's code, or `first_ellipsis_label` plus how far from the last one it lies among
/// the axes that the ellipsis stands for.
using Label = std::int64_t;
inline constexpr Label first_ellipsis_label = 256;

struct EinsumEquation {
  std::vector<std::vector<Label>> operands;  ///< as many labels as the operand has axes
  std::vector<Label> result;                 ///< each once, all of them in the operands
};

/// Reads `text` for operands of these ranks. Spaces are left out; a result that is left out is the
/// ellipsis and the letters that occur once, in the order of their codes.
[[nodiscard]] Expected<EinsumEquation> parse_einsum(std::string_view text,
                                                    std::span<const Tensor> operands);

}  // namespace quadrant::inline v0::interpreted
