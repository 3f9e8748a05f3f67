// Plans, profiles of hardware, statistics and sensitivities as JSON.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

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

/// The plan as JSON text. Equal plans give equal text. Names that are not UTF-8, which JSON cannot
/// hold, get replacement characters and will not be found again.
[[nodiscard]] std::string print_plan(const Plan& plan);

/// Reads what `print_plan` writes. Strict, since a key that is silently ignored is a decision that
/// silently does not happen: unknown, missing and repeated keys are errors, as are other types,
/// numbers beyond 64 bits, and nesting deeper than a plan's. All are `invalid_model`, with the JSON
/// path (`$.values[3].gain`) in the message, or the byte offset where the text is not JSON.
[[nodiscard]] Expected<Plan> parse_plan(std::string_view text);

// Hardware profiles as JSON: scripts/measure_hardware.py writes them, people may too.
// docs/selection.md describes them.
//
//   {
//     "format": "quadrant.hardware",
//     "version": 1,
//     "name": "my-laptop",
//     "description": "what it is, and what ran on it",
//     "bandwidth": 12,
//     "overhead": 800,
//     "float_products": 45,
//     ...
//     "folds_constants": false,
//     "sums_in_32_bits": true
//   }

/// The profile as JSON text; kernels that there are not are left out. Equal profiles give equal
/// text.
[[nodiscard]] std::string print_hardware(const HardwareProfile& profile);

/// Reads a profile, and checks it (`check`). Strict, as `parse_plan` is: missing, unknown and
/// repeated keys, other types, and numbers out of bounds are `invalid_model`, with the JSON path in
/// the message and near names where there are some. `description`, `folds_constants` and
/// `sums_in_32_bits` may be missing.
[[nodiscard]] Expected<HardwareProfile> parse_hardware(std::string_view text);

// Statistics as JSON: gathered by one run, used or added to by another.
//
//   {
//     "format": "quadrant.statistics",
//     "version": 2,
//     "model": "model.onnx",
//     "model_hash": "00c0ffee00c0ffee",
//     "samples": 1,
//     "values": [
//       {"value": "x", "samples": 1, "min": -0.5, "max": 1.75, "sum": "0xb802p-13", "zeros": 2,
//        "nan": 0, "positive_infinity": 0, "negative_infinity": 0,
//        "negative": [[2048, 3]], "positive": [[512, 1, 1], [7168, 4]]}
//     ]
//   }
//
// `model_hash`, in base 16, tells the model from others; files of version 1, and tables of a
// program that did not say it, have none. A value is one line. Its bins are runs: the index of the
// first, and the counts of it and those behind it; Histogram says what the indices mean. Sums are
// exact, as ExactSum writes them. A value with statistics by channel also has
//
//   "by_channel": {"axis": 1, "varying": false, "count": [..], "min": [..], "max": [..], "sum":
//   [..]}

/// The table as JSON text, values in the order of their names. Equal tables give equal text. Names
/// that are not UTF-8, which JSON cannot hold, get replacement characters and will not be found
/// again.
[[nodiscard]] std::string print_statistics(const StatisticsTable& table);

/// Reads what `print_statistics` writes; every number comes back exactly. As strict as
/// `parse_plan`, and what no data give (bins that do not fit the range, a mean outside of it,
/// channels that are not those of the whole) is `invalid_model` too, with the JSON path.
[[nodiscard]] Expected<StatisticsTable> parse_statistics(std::string_view text);

// What a sensitivity study measured, as JSON: saved by one run, used again by the next.

/// Format `quadrant.sensitivity`, version 2. Numbers are read back exactly; in names, what is not
/// UTF-8 becomes replacement characters. Layers whose sums overflowed are left out: JSON has no
/// infinity.
[[nodiscard]] std::string print_sensitivity(const SensitivityCache& cache);

/// Reads what `print_sensitivity` writes. Strict: anything else, and counts and sums that no values
/// have, is `invalid_model`, with the JSON path in the message, or the byte offset where the text
/// is not JSON.
[[nodiscard]] Expected<SensitivityCache> parse_sensitivity(std::string_view text);

}  // namespace quadrant::inline v0
