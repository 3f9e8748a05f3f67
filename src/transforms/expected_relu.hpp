// The mean of what a ReLU makes of normally distributed values.
#pragma once

namespace quadrant::inline v0 {

/// E[max(0, x)] of x normally distributed, of that mean and standard deviation:
///
///   mean Phi(mean / deviation) + deviation phi(mean / deviation)
///
/// with Phi and phi the standard normal distribution and its density (arXiv 1906.04721, appendix
/// C). max(0, mean) for a deviation of 0. Of a mean of 0.5 and a deviation of 1: 0.697797.
[[nodiscard]] double expected_relu(double mean, double deviation) noexcept;

}  // namespace quadrant::inline v0
