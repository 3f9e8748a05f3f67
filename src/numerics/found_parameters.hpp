// Scales and zero points on their way from a rule to a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/kernels/quantize.hpp"
#include "numerics/scale_rule.hpp"

namespace quadrant::inline v0 {

/// A scale for each group, and a zero point for each where the rule does not fix it.
struct FoundParameters {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  std::int32_t zero_point = 0;  ///< of all groups where there are no `zero_points`

  FoundParameters() = default;
  FoundParameters(const ScaleRule& rule, std::size_t groups);

  void set(std::size_t group, const GroupParameters& parameters) {
    scales[group] = parameters.scale;
    if (!zero_points.empty()) zero_points[group] = parameters.zero_point;
  }

  /// From group `first` on, for codes by `rule`.
  [[nodiscard]] kernels::Affine from(const ScaleRule& rule, std::size_t first) const noexcept;

  /// unsearched_parameters for the groups from `first` on, of which group first + i reaches from
  /// -below[i] to above[i]; both are finite and not negative.
  void set_unsearched(const ScaleRule& rule, std::size_t first, std::span<const float> above,
                      std::span<const float> below);

  /// What a type needs, of constants: of the rule's types, by `parameter_shape`.
  [[nodiscard]] ParameterScan constants(const ScaleRule& rule, const Shape& shape) &&;
};

/// Whether the largest magnitude is all that `rule` asks of a group.
[[nodiscard]] bool needs_magnitudes_alone(const ScaleRule& rule) noexcept;

}  // namespace quadrant::inline v0
