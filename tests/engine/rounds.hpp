// How often tests on random graphs are repeated.
#pragma once

#include <concepts>

namespace quadrant::test {

/// `count`, and a fifth of it under the address sanitizer, where they take minutes: the release
/// build repeats them all, and what a sanitizer finds does not wait for the thousandth graph. How
/// many graphs must at least have shown what a test is about is in proportion.
template <std::integral Count>
constexpr Count rounds(Count count) {
#if defined(__SANITIZE_ADDRESS__)
  return count / 5;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return count / 5;
#else
  return count;
#endif
#else
  return count;
#endif
}

}  // namespace quadrant::test
