// Memory in large pages.
#pragma once

#include <cstddef>
#include <span>

namespace quadrant::inline v0 {

/// Advises that `memory`, which nobody has written yet, be had in large pages where the system has
/// them. The first touch of each page costs a fault, and of megabytes these cost more than filling
/// them does. What is below two megabytes stays as it is. Advice: nothing depends on it.
void prefer_large_pages(std::span<const std::byte> memory) noexcept;

}  // namespace quadrant::inline v0
