// A decision as a value: what the phases decided, apart from the graph and the process.
#pragma once

#include <string>
#include <vector>

#include "quadrant/engine/gain.hpp"

namespace quadrant::inline v0 {

/// One value to quantize.
struct PlannedValue {
  std::string value;       ///< its name, which is stable between runs
  std::string constraint;  ///< as the scheme prints it
  Gain gain;               ///< the flow that selected it: information, not an instruction
  friend bool operator==(const PlannedValue&, const PlannedValue&) = default;
};

/// A value that is wanted in float although it is quantized: dequantized once, for all `users`.
struct PlannedConversion {
  std::string value;
  std::vector<std::string> users;  ///< names of nodes, one for each operand that reads it
  friend bool operator==(const PlannedConversion&, const PlannedConversion&) = default;
};

/// What phases 1 to 3 decided for one graph. Sorted by value name, so equal decisions are equal
/// plans, whatever order the graph was built in.
struct Plan {
  std::string scheme;
  std::string options;  ///< Scheme::describe of the run that made it
  std::string gain_model;
  Gain objective;
  std::vector<PlannedValue> values;
  std::vector<PlannedConversion> conversions;
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace quadrant::inline v0
