// How often tests on random graphs are repeated.
#pragma once

#include <concepts>
#include <cstdlib>

namespace quadrant::test {

/// `count`, and a twentieth of it under the address sanitizer, where they take minutes, unless
/// QUADRANT_WHOLE is in the environment, as in the tier `nightly`: the release build repeats them
/// all, and what a sanitizer finds does not wait for the thousandth graph. How many graphs must at
/// least have shown what a test is about is in proportion.
template <std::integral Count>
Count rounds(Count count) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr bool sanitized = true;
#elif defined(__has_feature)
  constexpr bool sanitized = __has_feature(address_sanitizer);
#else
  constexpr bool sanitized = false;
#endif
  return sanitized && std::getenv("QUADRANT_WHOLE") == nullptr ? count / 20 : count;
}

}  // namespace quadrant::test
