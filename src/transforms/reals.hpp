// Constants of real numbers, to compute with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The types in which rounding anew keeps the promise of 1e-5: float32 and float64.
[[nodiscard]] bool is_wide_float(ElementType element) noexcept;

/// The elements of a constant of such a type.
[[nodiscard]] Expected<std::vector<double>> read_reals(const Constant& constant);

/// `values`, each rounded once to `element`, a type as above.
[[nodiscard]] Constant rounded_constant(ElementType element, Shape shape,
                                        std::span<const double> values);

/// Whether all are finite once they are rounded to `element`.
[[nodiscard]] bool are_finite(ElementType element, std::span<const double> values);

/// Whether `constant` is one number, or one for each of `channels` along `axis` (counted from the
/// end, so below zero), and leaves a tensor of `rank` axes its shape when both broadcast.
[[nodiscard]] bool is_channelwise(const Constant& constant, std::int64_t channels,
                                  std::int64_t axis, std::int64_t rank);

/// One number for each channel of a constant that is channelwise.
[[nodiscard]] Expected<std::vector<double>> read_channels(const Constant& constant,
                                                          std::int64_t channels);

}  // namespace quadrant::inline v0
