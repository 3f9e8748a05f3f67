// A decision as a value: what the phases decided, apart from the graph and the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

/// How phase 3 decides.
enum class SelectionPolicy : std::uint8_t {
  greedy,   ///< `select_greedy`
  optimal,  ///< `select_optimal`
};
[[nodiscard]] std::string_view to_string(SelectionPolicy policy) noexcept;
/// Empty for another name.
[[nodiscard]] std::optional<SelectionPolicy> selection_policy(std::string_view name) noexcept;

/// One of the schemes of a run.
struct PlannedScheme {
  std::string name;
  std::string options;  ///< Scheme::describe
  friend bool operator==(const PlannedScheme&, const PlannedScheme&) = default;
};

/// One value to be made in a quantized form.
struct PlannedValue {
  std::string value;       ///< its name, which is stable between runs
  std::string scheme;      ///< whose constraint it is
  std::string constraint;  ///< as the scheme prints it
  Gain gain;               ///< what selected it: information, not an instruction
  friend bool operator==(const PlannedValue&, const PlannedValue&) = default;
};

/// A value that is wanted in a form besides the one that it is made in: converted once, for all
/// `users`. Information: it follows from the values.
struct PlannedConversion {
  std::string value;
  /// `float`, or a constraint; where several schemes run, after the name of its own: `a axis=1`.
  std::string from;
  std::string to;
  std::vector<std::string> users;  ///< labels of nodes, one for each operand that reads it
  friend bool operator==(const PlannedConversion&, const PlannedConversion&) = default;
};

/// Values that share their parameters. Information: it follows from the values.
struct PlannedGroup {
  std::string constraint;           ///< as in PlannedConversion
  std::vector<std::string> values;  ///< two at least, sorted
  friend bool operator==(const PlannedGroup&, const PlannedGroup&) = default;
};

/// What phases 1 to 3 decided for one graph. Sorted, so equal decisions are equal plans, whatever
/// order the graph was built in.
struct Plan {
  std::vector<PlannedScheme> schemes;
  std::string gain_model;
  SelectionPolicy policy = SelectionPolicy::greedy;
  Gain objective;
  std::vector<PlannedValue> values;
  std::vector<PlannedConversion> conversions;
  std::vector<PlannedGroup> shared;
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace quadrant::inline v0
