// Phase 1: which values could be quantized, given some quantization of their parents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "quadrant/engine/method.hpp"
#include "quadrant/engine/registry.hpp"
#include "quadrant/engine/value_map.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Nodes that a user, or the data, excludes, each with the reason. A vetoed node's results stay
/// float and it asks for nothing.
using Vetoes = std::unordered_map<NodeId, std::string>;

/// Why a value got its state in phase 1.
enum class EligibilityCause : std::uint8_t {
  eligible,
  already_quantized,  ///< the model came with this value quantized
  no_method,          ///< the scheme has no method for the operation
  vetoed,
  pattern,  ///< no alternative of requires_parents matched
  method,   ///< the method's own check_eligibility said no
};

/// The result of phase 1. A possibility, not a commitment. Refers to the registry's methods.
class Eligibility {
 public:
  [[nodiscard]] State state(Value value) const noexcept { return states_[value]; }
  [[nodiscard]] EligibilityCause cause(NodeId node) const noexcept { return causes_[node.index]; }
  /// For `EligibilityCause::method`: the reason, a literal, or null.
  [[nodiscard]] const char* why(NodeId node) const noexcept;
  /// The node's method if the node takes part: its results are Quantizable or it is a Consumer.
  [[nodiscard]] const QuantizationMethod* method(NodeId node) const noexcept {
    return methods_[node.index];
  }
  [[nodiscard]] const std::shared_ptr<const ValueNumbering>& numbering() const noexcept {
    return states_.numbering();
  }

 private:
  friend Eligibility detect_eligibility(const GraphView&, const std::vector<NodeId>&,
                                        const Registry&, const Vetoes&);
  ValueMap<State> states_;
  std::vector<EligibilityCause> causes_;
  std::vector<const QuantizationMethod*> methods_;
  std::unordered_map<NodeId, const char*> whys_;
};

/// Runs phase 1 over `order`, a topological order of `graph`. Linear.
[[nodiscard]] Eligibility detect_eligibility(const GraphView& graph,
                                             const std::vector<NodeId>& order,
                                             const Registry& registry, const Vetoes& vetoes = {});

}  // namespace quadrant::inline v0
