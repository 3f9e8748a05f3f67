// Why a value is quantized, or is not, and what two plans decide differently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/quantize.hpp"

namespace quadrant::inline v0 {

// Why a value is quantized, or is not.

/// One request that reached a value.
struct ExplainedRequest {
  std::string constraint;
  Gain gain;
  bool accepted = false;
  bool selected = false;
  std::vector<std::string> from;  ///< nodes that asked, `name (operand 1)`
  std::string refusal;            ///< why it could not be accepted; empty when it was
};

/// What one Consumer asked of one operand and whether it got it.
struct ExplainedBenefit {
  std::string operand;  ///< name of the value asked
  std::uint32_t index = 0;
  std::string constraint;
  Gain gain;
  bool realized = false;
  std::string why_not;
};

/// A form in which the value is read besides the one that it is made in.
struct ExplainedConversion {
  std::string from;
  std::string to;                    ///< `float`, or a constraint
  Gain gain;                         ///< its price: not above zero
  std::vector<std::string> readers;  ///< `name (operand 1)`; none: another conversion alone
};

/// Why some of the schemes of a run must leave a value alone, where others need not.
struct ExplainedVeto {
  std::vector<std::string> schemes;
  std::string reason;
};

/// A form that a coupling takes, where the value stays float because of it.
struct ExplainedCoupling {
  std::string with;  ///< name of another member
  std::string constraint;
};

struct Explanation {
  std::string value;  ///< name of the value; of the node where it has no results
  std::string node;
  std::string kind;
  State state = State::Unquantized;  ///< ToQuantize when selected
  std::string reason;                ///< one sentence; always there
  std::vector<ExplainedRequest> requests;
  std::vector<ExplainedBenefit> benefits;
  std::vector<ExplainedConversion> conversions;
  std::vector<ExplainedVeto> vetoes;  ///< each reason once
  /// For a value that couplings keep in float, which the reason says too. Of two and more none can
  /// be taken.
  std::vector<ExplainedCoupling> couplings;
  /// For a value in float: the operands that stand in the way of what it comes nearest to, by name.
  /// Were they as asked, it would not be refused.
  std::vector<std::string> blockers;
};

/// `graph` must be the graph that was analyzed, as it was then: one that was quantized in place
/// since is another. Of a node without results, result 0 is the node itself.
[[nodiscard]] Explanation explain(const GraphView& graph, const Registry& registry,
                                  const Analysis& analysis, Value value);
/// Its result 0.
[[nodiscard]] inline Explanation explain(const GraphView& graph, const Registry& registry,
                                         const Analysis& analysis, NodeId node) {
  return explain(graph, registry, analysis, Value{node});
}

/// Result 0 of each node, in the order of the analysis. Linear.
[[nodiscard]] std::vector<Explanation> explain_all(const GraphView& graph, const Registry& registry,
                                                   const Analysis& analysis);
/// Every result of each node. Linear.
[[nodiscard]] std::vector<Explanation> explain_values(const GraphView& graph,
                                                      const Registry& registry,
                                                      const Analysis& analysis);

/// A node whose results two decisions make in different forms, and why each does.
struct ExplainedDifference {
  Explanation before;
  Explanation after;
};

/// The nodes that two decisions about the same graph treat differently, in topological order:
/// another form, or codes and float. Gains alone are no difference. Linear.
[[nodiscard]] std::vector<ExplainedDifference> explain_differences(const GraphView& graph,
                                                                   const Analysis& before,
                                                                   const Analysis& after);

/// Several lines of text.
[[nodiscard]] std::string to_string(const Explanation& explanation);

// What two plans decide differently.

/// One difference. Sides are as printed; an empty side: not there.
struct PlanDifference {
  std::string
      what;  ///< `gain model`, `objective`, `scheme 'x'`, `value 'w'`, `conversion of 'w' to float`
  std::string before;
  std::string after;
  friend bool operator==(const PlanDifference&, const PlanDifference&) = default;
};

/// The differences between two plans: settings first, then values by name, conversions and shared
/// parameters. A value whose gain alone changed is no difference. Empty: the same decision.
[[nodiscard]] std::vector<PlanDifference> diff(const Plan& before, const Plan& after);

/// A line for each: `value 'w': axis=0 -> axis=1`, `+ value 'w': axis=0`, `- value 'w': axis=0`.
[[nodiscard]] std::string to_string(const std::vector<PlanDifference>& differences);

}  // namespace quadrant::inline v0
