// Why a value cannot be quantized, and which others stand in the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Refers to what it is made with.
class EligibilityReasons {
 public:
  EligibilityReasons(const GraphView& graph, const Registry& registry, const Analysis& analysis)
      : graph_(graph), registry_(registry), analysis_(analysis) {}

  [[nodiscard]] std::string constraint(ConstraintId id) const;
  /// Of the node, where they are of some schemes alone: else they are what `ineligible` says.
  [[nodiscard]] std::vector<ExplainedVeto> vetoes(NodeId node) const;
  /// Why none of its results, under any scheme, can be quantized.
  [[nodiscard]] std::string ineligible(NodeId node) const;
  [[nodiscard]] std::string ineligible(NodeId node, std::uint32_t scheme) const;
  /// The reason of schemes, of which `scheme` is one; what they have not is theirs by name.
  [[nodiscard]] std::string sentence(NodeId node, std::uint32_t scheme,
                                     const ExplainedVeto& group) const;
  /// The values that stand in the way, by name: were they otherwise, so would this one be.
  [[nodiscard]] std::vector<std::string> blockers(Value value) const;

 private:
  /// A pattern, and the operands where it fails.
  struct Blockers {
    const ParentsPattern* pattern = nullptr;
    std::vector<std::size_t> operands;
  };

  [[nodiscard]] NodeRef ref(NodeId node) const { return {&graph_, node}; }
  [[nodiscard]] std::vector<ExplainedVeto> by_reason(
      FunctionRef<std::optional<std::string>(std::uint32_t)> reason) const;
  [[nodiscard]] const std::string* veto(NodeId node, std::uint32_t scheme) const;
  [[nodiscard]] bool holds_reals(NodeId node) const;
  [[nodiscard]] std::string pattern_mismatches(NodeId node, std::uint32_t scheme) const;
  [[nodiscard]] std::vector<Blockers> find_blockers(NodeId node, std::uint32_t scheme) const;
  [[nodiscard]] std::vector<Value> find_blockers(Value value, SelectionCause cause) const;
  [[nodiscard]] bool is_in_the_way(const Need& need, Value operand, SelectionCause cause) const;

  const GraphView& graph_;
  const Registry& registry_;
  const Analysis& analysis_;
};

}  // namespace quadrant::inline v0
