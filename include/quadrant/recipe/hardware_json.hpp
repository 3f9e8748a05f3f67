// Hardware profiles as JSON: scripts/measure_hardware.py writes them, people may too.
// docs/latency.md describes them.
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
#pragma once

#include <string>
#include <string_view>

#include "quadrant/engine/gains/hardware_profile.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The profile as JSON text; kernels that there are not are left out. Equal profiles give equal
/// text.
[[nodiscard]] std::string print_hardware(const HardwareProfile& profile);

/// Reads a profile, and checks it (`check`). Strict, as `parse_plan` is: missing, unknown and
/// repeated keys, other types, and numbers out of bounds are `invalid_model`, with the JSON path in
/// the message and near names where there are some. `description`, `folds_constants` and
/// `sums_in_32_bits` may be missing.
[[nodiscard]] Expected<HardwareProfile> parse_hardware(std::string_view text);

}  // namespace quadrant::inline v0
