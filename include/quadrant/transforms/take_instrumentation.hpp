// Statistics and couplings that a model carries, taken out of it.
#pragma once

#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

struct Instrumentation {
  /// What each `stats` says, under the name of the value that it is about: the ends of its ranges,
  /// and nothing of what lies between. Of several for one value, all.
  StatisticsTable statistics;
  /// Values that share a key of `coupled_ref`, two at least, by the keys: QuantizeOptions's
  /// `couplings`.
  std::vector<std::vector<Value>> couplings;
  /// Each `stats_ref`: nobody gathered its statistics (calibration/gather_stats.hpp does).
  std::vector<LeftAlone> ungathered;
  /// Each `coupled_ref` whose key no other value has.
  std::vector<LeftAlone> uncoupled;
};

/// Removes each `stats`, `stats_ref` and `coupled_ref`: who read its result reads its operand. What
/// they said is the result.
///
/// Linear, but for the order of keys and names. The graph needs exclusive access; it stays as it
/// was if this fails: `invalid_model` for attributes that `verify` refuses, and for a cycle.
[[nodiscard]] Expected<Instrumentation> take_instrumentation(Graph& graph);

}  // namespace quadrant::inline v0
