// How often a test of many rounds repeats itself.
#pragma once

namespace quadrant::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

/// `count`, and a tenth of it under sanitizers. They look for what is wrong with each step, which a
/// tenth shows as well, and take ten times as long.
constexpr int rounds(int count) { return is_sanitized ? (count + 9) / 10 : count; }

}  // namespace quadrant::test
