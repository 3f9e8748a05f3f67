// A sum of tables over variables of few states: the form in which phase 3 is solved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/gains/worth.hpp"

namespace quadrant::inline v0 {

/// Index of a variable.
using VariableId = std::uint32_t;
/// Index of a factor.
using FactorId = std::uint32_t;
/// The state of each variable.
using Assignment = std::vector<std::uint32_t>;

/// Worth of the states of some variables together.
struct FactorView {
  std::span<const VariableId> scope;  ///< each variable once
  std::span<const Worth> table;       ///< by the states of the scope, the last running fastest
};

class FactorGraph {
 public:
  /// `states`: 1 at least.
  VariableId add_variable(std::uint32_t states);
  void add_factor(std::span<const VariableId> scope, std::span<const Worth> table);
  /// Makes `factors_of` know all factors. Call it once, after the last of them.
  void freeze();

  [[nodiscard]] std::uint32_t variable_count() const noexcept {
    return static_cast<std::uint32_t>(states_.size());
  }
  [[nodiscard]] std::uint32_t factor_count() const noexcept {
    return static_cast<std::uint32_t>(first_scope_.size() - 1);
  }
  [[nodiscard]] std::uint32_t states(VariableId variable) const noexcept {
    return states_[variable];
  }
  [[nodiscard]] FactorView factor(FactorId id) const noexcept {
    return {std::span(scopes_).subspan(first_scope_[id], first_scope_[id + 1] - first_scope_[id]),
            std::span(tables_).subspan(first_entry_[id], first_entry_[id + 1] - first_entry_[id])};
  }
  [[nodiscard]] std::span<const FactorId> factors_of(VariableId variable) const noexcept {
    const std::size_t first = first_use_[variable];
    return std::span(uses_).subspan(first, first_use_[variable + 1] - first);
  }
  /// Of the factor, where its variables are as in `assignment`.
  [[nodiscard]] Worth worth(FactorId id, const Assignment& assignment) const noexcept;
  /// The sum of all factors.
  [[nodiscard]] Worth worth(const Assignment& assignment) const noexcept;
  /// The sum of the factors of `component`, which has all variables of each of them.
  [[nodiscard]] Worth worth(std::span<const VariableId> component,
                            const Assignment& assignment) const noexcept;

 private:
  std::vector<std::uint32_t> states_;
  std::vector<VariableId> scopes_;
  std::vector<Worth> tables_;
  std::vector<std::size_t> first_scope_{0};
  std::vector<std::size_t> first_entry_{0};
  std::vector<FactorId> uses_;
  std::vector<std::size_t> first_use_;
};

}  // namespace quadrant::inline v0
