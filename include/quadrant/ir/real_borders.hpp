// Models that take and give codes, as models that take and give real values, and back.
#pragma once

#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

/// Whether an input, or the value of an output, is quantized.
[[nodiscard]] bool has_coded_borders(const GraphView& graph);

/// Inputs that are codes become real values, of their expressed type and with the same name, with a
/// `quantize` behind; in front of outputs that are codes comes a `dequantize`. So the model can be
/// fed, and compared, as the one that it was made of. All else stays. Linear.
void make_borders_real(Graph& graph);

/// The opposite: an input that `quantize` alone reads, always by the same parameters, becomes
/// codes, and so does an output that a `dequantize` makes. Returns the inputs and outputs of real
/// numbers that stay so, with the reason. Linear.
[[nodiscard]] std::vector<LeftAlone> make_borders_coded(Graph& graph);

}  // namespace quadrant::inline v0
