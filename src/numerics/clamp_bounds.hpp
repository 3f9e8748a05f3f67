// Numbers that a node is given, and the bounds of a clamp, where they are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Operand `index`, a constant of one real number, or `attribute`, which it was in earlier versions
/// of the operation; `fallback` where there is neither. Empty where it is computed, not one real
/// number, or cannot be read.
[[nodiscard]] std::optional<double> known_number(NodeRef node, std::uint32_t index,
                                                 std::string_view attribute, double fallback);

/// What a node limits its operand to, ends included; infinite where it does not, which is where no
/// float32 reaches it, too.
struct ClampBounds {
  double low = 0;
  double high = 0;

  friend bool operator==(const ClampBounds&, const ClampBounds&) = default;
};

/// Of a Relu or a Clip. Empty for other operations, where a bound is not known, and where the lower
/// one is above the upper.
[[nodiscard]] std::optional<ClampBounds> clamp_bounds(NodeRef node);

}  // namespace quadrant::inline v0
