// Errors that say which sample they are of.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// An error of a model that ran on sample `i` says so.
template <class T>
[[nodiscard]] Expected<T> on_sample(Expected<T> result, const DataSet& data, std::size_t i) {
  if (!result) result.error().message += fmt::format(" (sample '{}')", data.name(i));
  return result;
}

/// Sample `i`; an error names its file.
[[nodiscard]] inline Expected<Sample> read_sample(const DataSet& data, std::size_t i) {
  return in_file(data.sample(i), data.name(i));
}

}  // namespace quadrant::inline v0
