// The encoding of least cost: EncodingMethod::enhanced and mse.
#pragma once

#include "numerics/distribution.hpp"
#include "numerics/range_encoding.hpp"
#include "numerics/scale_search.hpp"

namespace quadrant::inline v0 {

/// One search a thread; it keeps its memory from one group to the next.
class LeastCost {
 public:
  /// `distribution` is not empty, `rule` has been checked.
  [[nodiscard]] Encoding best(const Distribution& distribution, const EncodingRule& rule);

 private:
  ScaleSearch search_;
};

}  // namespace quadrant::inline v0
