// What the tests of this room share.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "model_text.hpp"
#include "quadrant/support/diagnostics.hpp"

namespace quadrant::test {

inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// Types are as the text says.
inline Graph graph_of_text(std::string_view text) { return value_of(parse_graph(text)); }

/// Collects what the library says.
class Notes final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override { found.push_back(diagnostic); }
  std::vector<Diagnostic> found;
};

}  // namespace quadrant::test
