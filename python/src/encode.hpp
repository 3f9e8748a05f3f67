// Codes of arrays, found by the library.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

#include "hook.hpp"
#include "moments.hpp"

namespace quadrant::python {

using EncodedArray = nb::typed<nb::tuple, Array, CodesType>;

/// An array in a number format: `(codes, type)`. `table`: of a format whose table is stored, the
/// one to take, ascending. With `moments`, of the weight that the array is, codes are rounded by
/// these, as `rounding` says: "nearest", "weighted", "feedback" or "descent". Throws a Failure.
[[nodiscard]] EncodedArray encode(Session& session, nb::handle array, const std::string& format,
                                  std::int64_t axis, std::int64_t block_axis,
                                  std::optional<nb::object> table, const WeightMoments* moments,
                                  const std::string& rounding);

/// The floats that codes stand for. Throws a Failure.
[[nodiscard]] Array decode(nb::handle codes, const CodesType& type);

}  // namespace quadrant::python
