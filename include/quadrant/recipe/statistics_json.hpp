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
#pragma once

#include <string>
#include <string_view>

#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The table as JSON text, values in the order of their names. Equal tables give equal text. Names
/// that are not UTF-8, which JSON cannot hold, get replacement characters and will not be found
/// again.
[[nodiscard]] std::string print_statistics(const StatisticsTable& table);

/// Reads what `print_statistics` writes; every number comes back exactly. As strict as
/// `parse_plan`, and what no data give (bins that do not fit the range, a mean outside of it,
/// channels that are not those of the whole) is `invalid_model` too, with the JSON path.
[[nodiscard]] Expected<StatisticsTable> parse_statistics(std::string_view text);

}  // namespace quadrant::inline v0
