// How often tests repeat themselves. Under the address sanitizer that takes minutes, and what it
// finds does not wait for the thousandth graph: tests are short there, unless QUADRANT_WHOLE is in
// the environment, as in the tier `nightly`. All other builds run them whole.
#pragma once

#include <concepts>
#include <cstdlib>

namespace quadrant::test {

inline bool is_whole() {
#if defined(__SANITIZE_ADDRESS__)
  constexpr bool sanitized = true;
#elif defined(__has_feature)
  constexpr bool sanitized = __has_feature(address_sanitizer);
#else
  constexpr bool sanitized = false;
#endif
  return !sanitized || std::getenv("QUADRANT_WHOLE") != nullptr;
}

/// `count`, or a twentieth of it: of random rounds, and of how many must at least have shown what a
/// test is about.
template <std::integral Count>
Count rounds(Count count) {
  return is_whole() ? count : count / 20;
}

/// Of cases that are enumerated: all of them, or each seventh, since they often come in fives and
/// eights.
class Turns {
 public:
  [[nodiscard]] bool next() { return count_++ % (is_whole() ? 1 : 7) == 0; }

 private:
  unsigned count_ = 0;
};

}  // namespace quadrant::test
