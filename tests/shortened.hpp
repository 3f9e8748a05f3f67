// How often tests repeat themselves. Under the address sanitizer that takes minutes, and what it
// finds does not wait for the thousandth graph: tests are shortened there, unless QUADRANT_WHOLE is
// in the environment, as in the tier `nightly`; and where QUADRANT_SHORT is, as on an emulated
// processor. All others run them whole.
#pragma once

#include <concepts>
#include <cstdlib>
#include <random>
#include <utility>

namespace quadrant::test {

inline bool is_whole() {
#if defined(__SANITIZE_ADDRESS__)
  constexpr bool sanitized = true;
#elif defined(__has_feature)
  constexpr bool sanitized = __has_feature(address_sanitizer);
#else
  constexpr bool sanitized = false;
#endif
  if (std::getenv("QUADRANT_WHOLE") != nullptr) return true;
  return !sanitized && std::getenv("QUADRANT_SHORT") == nullptr;
}

/// `count`, or a fiftieth of it: of random rounds, of how many must at least have shown what a
/// test is about, of nodes in a chain.
template <std::integral Count>
Count shortened(Count count) {
  return is_whole() ? count : count / 50;
}

/// Of cases that are enumerated: all of them, or the first and a fiftieth of the others, drawn, so
/// that no number of cases makes them always the same ones.
class Turns {
 public:
  [[nodiscard]] bool next() {
    const bool is_first = !std::exchange(has_begun_, true);
    return is_whole() || random_() % 50 == 0 || is_first;
  }

 private:
  std::mt19937 random_{20261126};
  bool has_begun_ = false;
};

}  // namespace quadrant::test
