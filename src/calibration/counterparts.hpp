// Which values of two models belong together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct Counterpart {
  std::string name;  ///< in the first model
  Value first;
  Value second;
};

/// Which input of `first` each input of `second` takes: by name, or by place where no name is in
/// both. `usage` when there is not one for each, of the same element type and a shape that can be
/// the same.
[[nodiscard]] Expected<std::vector<std::size_t>> input_counterparts(const Graph& first,
                                                                    const Graph& second,
                                                                    const CompareNames& names);

/// Outputs by name; where no name is in both and there are as many, by place. `sink`, which may be
/// null, hears which of either model have none. `usage` when all have none.
[[nodiscard]] Expected<std::vector<Counterpart>> output_counterparts(const Graph& first,
                                                                     const Graph& second,
                                                                     const CompareNames& names,
                                                                     Sink* sink);

/// Float values of the same name, producers before users, that are neither inputs nor constants.
[[nodiscard]] Expected<std::vector<Counterpart>> layer_counterparts(const Graph& first,
                                                                    const Graph& second);

}  // namespace quadrant::inline v0
