// What couplings ask of the values that they keep in float.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

class CouplingDemands {
 public:
  /// `produced`: the form that each value is made in. `forms`: those that the couplings take where
  /// no member is made so; may be empty. Linear. Refers to `problem`.
  CouplingDemands(const SelectionProblem& problem, const ValueMap<ConstraintId>& produced,
                  std::span<const ConstraintId> forms);

  /// The forms that the couplings of a node's results take, each once, by name of the member that
  /// is named for it. All real results are made in one form, so this binds each of them; which one
  /// it is for is left open.
  [[nodiscard]] std::vector<CouplingDemand> of(NodeId node) const;

 private:
  // The first two members by name that are of different nodes: one of them is of another node than
  // any value.
  struct Witnesses {
    ConstraintId form = float_form;
    Value first;
    Value second;
  };

  [[nodiscard]] std::vector<Witnesses> witnesses_of(std::span<const Value> members,
                                                    const ValueMap<ConstraintId>& produced,
                                                    ConstraintId form) const;
  void add(Witnesses& witnesses, Value member) const;
  [[nodiscard]] std::string_view name(Value value) const;

  const SelectionProblem& problem_;
  std::vector<std::vector<Witnesses>> witnesses_;  // by coupling, each form once
  std::unordered_map<Value, std::vector<std::uint32_t>> couplings_of_;  // by place in the list
};

}  // namespace quadrant::inline v0
