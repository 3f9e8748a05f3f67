// How far results are from the truth.
#pragma once

#include <span>
#include <vector>

#include "case_file.hpp"
#include "case_graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::webnn {

/// Results further away than this are wrong.
inline constexpr double most_steps = 1;

/// The largest difference of two elements, in steps: 1 for integers, `steps` for reals that are
/// what codes mean, and for other reals what rounding excuses (1e-5 of the number, or 1e-6 of the
/// tensor's largest; of float16, 5e-3 and 1e-3). Infinite where shapes or types are not the same;
/// truth values and bytes are.
[[nodiscard]] double steps_between(const Tensor& result, const Tensor& truth,
                                   const std::vector<double>& steps);

/// The largest of all outputs; infinite where one is missing.
[[nodiscard]] double steps_between(const NamedTensors& results, const NamedTensors& truth,
                                   std::span<const CaseOutput> outputs);

/// The case's outputs by their names, computed by the interpreter.
[[nodiscard]] Expected<NamedTensors> run_graph(const Graph& graph, const CaseGraph& from);

}  // namespace quadrant::webnn
