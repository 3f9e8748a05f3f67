#include <doctest/doctest.h>

#include <vector>

#include "quadrant/report/tables.hpp"

using namespace quadrant;

TEST_CASE("a table says what is not finite, and exact of equal elements alone") {
  const auto row = [](const Agreement& agreement) {
    const std::vector<LayerSensitivity> layers{{"w", {{"y", "matmul", agreement}}, false}};
    const std::string text = to_string(layers);
    return text.substr(text.find('\n') + 1);
  };
  CHECK(row({.elements = 2, .equal = 2}).find("  exact ") != std::string::npos);
  CHECK(row({.elements = 2, .equal = 1, .non_finite = 1}).find("  1 not finite ") !=
        std::string::npos);
  Agreement noisy{.elements = 3, .equal = 1, .non_finite = 1, .signal = 100, .noise = 1};
  CHECK(row(noisy).find("  20.00 dB, 1 not finite ") != std::string::npos);
  noisy.noise = 0;  // the squares of what differs are too small for a double
  CHECK(row(noisy).find("  inf dB, 1 not finite ") != std::string::npos);
}
