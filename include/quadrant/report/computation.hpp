// What a model computes on codes, and what on real numbers, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/report/table.hpp"

namespace quadrant::inline v0 {

/// One operation that reads or makes real numbers, or codes of them.
struct Computation {
  std::string name;
  std::string kind;
  bool on_codes = false;
  std::string reason;  ///< one sentence
};

struct ComputationReport {
  std::vector<Computation> operations;  ///< producers first
  std::uint64_t on_codes = 0;
  std::uint64_t requantized = 0;  ///< codes that become other codes between two operations
};

/// Whether the report has a row for `node`: not `quantize`, `dequantize`, and what only holds or
/// hands on values.
[[nodiscard]] bool is_computation(NodeRef node);

/// After phase 3: what the decision makes of each computation of `graph`, which was analyzed.
/// Linear.
[[nodiscard]] ComputationReport report_computation(const GraphView& graph, const Registry& registry,
                                                   const Analysis& analysis);

/// A row for each kind of operation: how many compute on codes, and on real numbers.
[[nodiscard]] Table table_of_kinds(const ComputationReport& report);
/// A row for each of the first `most` operations on real numbers, with the reason.
[[nodiscard]] Table table_of_reals(const ComputationReport& report, std::size_t most);

}  // namespace quadrant::inline v0
