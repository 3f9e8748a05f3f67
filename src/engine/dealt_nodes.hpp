// The data pass of `quantize`, dealt to ranks.
#pragma once

#include "quadrant/engine/quantize.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// How nodes whose contents are read are dealt. The cost is a reference, which has no value of its
/// own.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
struct DealtNodes {
  Ranks* ranks = nullptr;  ///< null: there are no others
  /// How long reading the contents of a value takes, in any unit. Asked where there are ranks.
  FunctionRef<double(Value)> cost;
};

/// `quantize`, which all ranks call with the same graph, registry and options: each reads a share
/// of the weights, of about the same cost, and gets what the others found. The result is the same
/// on all, and that of `quantize` alone.
[[nodiscard]] Expected<QuantizeResult> quantize(const Graph& graph, const Registry& registry,
                                                const QuantizeOptions& options,
                                                const DealtNodes& dealt);

}  // namespace quadrant::inline v0
