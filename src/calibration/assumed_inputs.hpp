// What a model is run on where nobody has given samples.
#pragma once

#include <cstddef>
#include <memory>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// `count` samples, the same on every machine: floats are normal with mean 0 and variance 1;
/// integers that pick rows of a table pick any of them; others of 32 and 64 bits are lengths where
/// they have no axes or one, and else ones, as in masks; those of fewer bits are any (pixels). An
/// extent that the model does not know is 1 if it is the first of several, a batch, and else the
/// first of 32, 8, 64 and 1 with which the model runs.
///
/// Null where no such sample runs, or outputs in float are then all zero, or not finite: nothing
/// can be assumed. Runs one sample. An input that would take more than 256 MiB is not made.
[[nodiscard]] std::unique_ptr<DataSet> assumed_inputs(const Graph& graph, std::size_t count,
                                                      const Runtime& runtime);

}  // namespace quadrant::inline v0
