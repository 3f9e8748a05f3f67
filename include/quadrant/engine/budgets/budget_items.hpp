// What there is to decide under a budget: weights, and what each can be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/error_table.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// One way that an item can be.
struct BudgetOption {
  std::string label;                   ///< `float`, a scheme's name in the run, or several with `+`
  std::vector<PlannedValue> values{};  ///< by name; none: float
  std::uint64_t stored_bytes = 0;      ///< codes, scales and zero points; floats where it is float
  bool is_mixed = false;               ///< of several schemes
};

/// A weight, or several values that are decided together.
struct BudgetItem {
  std::string name;                   ///< of its first stored value, and how many more there are
  std::vector<std::string> stored;    ///< names of the values that are stored, in topological order
  std::uint64_t elements = 0;         ///< of these
  std::vector<BudgetOption> options;  ///< the first is float
};

/// Everything that `registry` could quantize, with what each of its schemes would make of it if it
/// were the only one of the run. Values of which one is made from another, that are coupled, or
/// that share parameters under one of the schemes are one item. In topological order. Linear in the
/// graph for each scheme; reads no contents.
[[nodiscard]] Expected<std::vector<BudgetItem>> find_budget_items(
    const GraphView& graph, const Registry& registry, const QuantizeOptions& options = {});

/// Adds to items of several stored values what selection makes of them when all schemes are in one
/// run, for prices of an error from none to all: so values of one item may take different schemes.
/// Selection is that of `options`.
[[nodiscard]] Expected<void> add_mixed_options(const GraphView& graph, const Registry& registry,
                                               const ErrorTable& errors,
                                               const QuantizeOptions& options,
                                               std::vector<BudgetItem>& items);

/// The plan, for a run with `registry`, that gives each item one of its options, by index.
[[nodiscard]] Plan plan_of(std::span<const BudgetItem> items,
                           std::span<const std::uint32_t> options, const Registry& registry);

}  // namespace quadrant::inline v0
