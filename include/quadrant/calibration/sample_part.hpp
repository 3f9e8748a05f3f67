// A part of the samples, for one of several runs that are added up.
#pragma once

#include <cstddef>
#include <memory>

#include "quadrant/calibration/data_set.hpp"

namespace quadrant::inline v0 {

/// Of `count` parts of a data set, the one with this index.
struct SamplePart {
  std::size_t index = 0;
  std::size_t count = 1;
};

/// Every `part.count`-th sample of `samples`, from `part.index` on: each sample is in one part, and
/// parts differ by one in size. A part may be empty. `part.index` < `part.count`. Refers to
/// `samples`.
[[nodiscard]] std::unique_ptr<DataSet> part_of(const DataSet& samples, SamplePart part);

}  // namespace quadrant::inline v0
