// Phase 1: which values could be quantized, given some quantization of their parents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Nodes that a user, or the data, excludes, each with the reason. A vetoed node's results stay
/// float and it asks for nothing. Its readers may still have its results quantized for themselves
/// (a scheme's `enter`).
using Vetoes = std::unordered_map<NodeId, std::string>;

/// The same for one scheme of several, by its name in the run.
using SchemeVetoes = std::map<std::string, Vetoes, std::less<>>;

/// Values that stay float for all their readers, each with the reason: they are neither made in
/// codes nor quantized for readers of codes. Their node may still read codes itself.
using ValueVetoes = std::unordered_map<Value, std::string>;

/// Why `scheme` must leave the node alone, or null: a reason that holds for every scheme comes
/// first. Valid while the vetoes are.
[[nodiscard]] const std::string* find_veto(const Vetoes& vetoes, const SchemeVetoes& of_schemes,
                                           NodeId node, std::string_view scheme) noexcept;

/// Why a value got its state in phase 1.
enum class EligibilityCause : std::uint8_t {
  eligible,
  already_quantized,  ///< the model came with this value quantized
  no_method,          ///< the scheme has no method for the operation
  vetoed,
  pattern,        ///< no alternative of requires_parents matched
  method,         ///< the method's own check_eligibility said no
  possibilities,  ///< too many given constraints meet here
};

/// The result of phase 1, for each scheme of the run. A possibility, not a commitment. Refers to
/// the registry's methods.
class Eligibility {
 public:
  [[nodiscard]] State state(Value value, std::uint32_t scheme = 0) const noexcept {
    return schemes_[scheme].states[value];
  }
  /// Of several schemes, the state under the one that gets furthest with the value.
  [[nodiscard]] State furthest_state(Value value) const noexcept;
  [[nodiscard]] EligibilityCause cause(NodeId node, std::uint32_t scheme = 0) const noexcept {
    return schemes_[scheme].causes[node.index];
  }
  /// For `EligibilityCause::method` and `possibilities`: the reason, or null. Valid while this or a
  /// copy of it is.
  [[nodiscard]] const std::string* why(NodeId node, std::uint32_t scheme = 0) const noexcept;
  /// The node's method if the node takes part: its results are Quantizable or it is a Consumer,
  /// perhaps one whose results came quantized.
  [[nodiscard]] const QuantizationMethod* method(NodeId node,
                                                 std::uint32_t scheme = 0) const noexcept {
    return schemes_[scheme].methods[node.index];
  }
  /// Whether the value is vetoed for all its readers.
  [[nodiscard]] bool stays_float(Value value) const noexcept {
    return staying_float_.contains(value);
  }
  /// The constraint of a value that came quantized, where a scheme knows it; else `float_form`.
  [[nodiscard]] ConstraintId given(Value value) const noexcept;
  /// The constraints that the node's results may hold under the scheme; null: any.
  [[nodiscard]] const std::vector<ConstraintId>* possible(NodeId node,
                                                          std::uint32_t scheme) const noexcept;

  /// What the scheme's `prepare` computed.
  [[nodiscard]] const SharedFacts& facts(std::uint32_t scheme) const noexcept {
    return schemes_[scheme].facts;
  }

  [[nodiscard]] std::uint32_t scheme_count() const noexcept {
    return static_cast<std::uint32_t>(schemes_.size());
  }
  [[nodiscard]] const std::shared_ptr<const ValueNumbering>& numbering() const noexcept {
    return schemes_[0].states.numbering();
  }
  /// Grows from phase to phase.
  [[nodiscard]] const std::shared_ptr<ConstraintTable>& constraints() const noexcept {
    return constraints_;
  }

 private:
  friend class EligibilityDetector;
  struct OfScheme {
    ValueMap<State> states;
    std::vector<EligibilityCause> causes;
    std::vector<const QuantizationMethod*> methods;
    std::unordered_map<NodeId, const std::string*> whys;
    std::unordered_map<NodeId, std::vector<ConstraintId>> possible;
    SharedFacts facts;
  };
  std::vector<OfScheme> schemes_;
  std::unordered_map<Value, ConstraintId> given_;
  std::unordered_set<Value> staying_float_;
  std::shared_ptr<Reasons> reasons_ = std::make_shared<Reasons>();
  std::shared_ptr<ConstraintTable> constraints_;
};

/// Most constraints that one value may be asked for where they are finite: beyond, the node is not
/// eligible, so that a concat of concats of thousands stays linear.
inline constexpr std::size_t most_possibilities = 64;

/// By scheme of the registry.
using SchemeFacts = std::vector<SharedFacts>;

/// Calls the `prepare` of all schemes: before phase 1, once a run.
[[nodiscard]] Expected<SchemeFacts> prepare_schemes(const GraphView& graph,
                                                    const Registry& registry);

/// Runs phase 1 over `order`, a topological order of `graph`. Linear. Vetoes of schemes that do not
/// run have no effect. `facts`: of `prepare_schemes`; none for schemes without that hook.
[[nodiscard]] Eligibility detect_eligibility(const GraphView& graph,
                                             const std::vector<NodeId>& order,
                                             const Registry& registry, const Vetoes& vetoes = {},
                                             const SchemeVetoes& of_schemes = {},
                                             const ValueVetoes& of_values = {},
                                             const SchemeFacts& facts = {});

}  // namespace quadrant::inline v0
