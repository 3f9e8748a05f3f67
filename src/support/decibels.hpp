// Relative noise power, noise / signal, as decibels of signal over noise, and back.
#pragma once

namespace quadrant::inline v0 {

/// -10 log10(noise), the SQNR: +infinity without noise. `relative_noise` is not below zero.
[[nodiscard]] double decibels_of(double relative_noise) noexcept;
/// 10^(-decibels / 10).
[[nodiscard]] double relative_noise_of(double decibels) noexcept;

}  // namespace quadrant::inline v0
