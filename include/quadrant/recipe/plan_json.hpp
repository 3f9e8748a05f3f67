// Plans as JSON: made by one run, read, reviewed or edited, followed by another.
//
//   {
//     "format": "quadrant.plan",
//     "version": 2,
//     "schemes": [{"name": "weight_only", "options": "bits=8"}],
//     "gain_model": "bytes",
//     "objective": 3072,
//     "values": [{"value": "w", "scheme": "weight_only", "constraint": "axis=1", "gain": 3072}],
//     "conversions": [{"value": "w", "from": "axis=1", "to": "float", "users": ["dense"]}],
//     "shared": []
//   }
#pragma once

#include <string>
#include <string_view>

#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The plan as JSON text. Equal plans give equal text. Names that are not UTF-8, which JSON cannot
/// hold, get replacement characters and will not be found again.
[[nodiscard]] std::string print_plan(const Plan& plan);

/// Reads what `print_plan` writes. Strict, since a key that is silently ignored is a decision that
/// silently does not happen: unknown, missing and repeated keys are errors, as are other types,
/// numbers beyond 64 bits, and nesting deeper than a plan's. All are `invalid_model`, with the JSON
/// path (`$.values[3].gain`) in the message, or the byte offset where the text is not JSON.
[[nodiscard]] Expected<Plan> parse_plan(std::string_view text);

}  // namespace quadrant::inline v0
