// Codes of arrays, found by the library.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

#include "moments.hpp"

namespace quadrant::python {

/// An array in a number format: `(codes, type)`. Reads no graph. `table`: of a format whose table
/// is stored, the one to take. With `moments`, of the weight that the array is, codes are
/// `rounding` by these, "nearest", "weighted", "feedback" or "descent". Throws a Failure.
[[nodiscard]] nb::tuple encode(nb::handle array, const std::string& format, std::int64_t axis,
                               std::int64_t block_axis, std::optional<nb::object> table,
                               const WeightMoments* moments, const std::string& rounding);

}  // namespace quadrant::python
