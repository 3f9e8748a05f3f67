// Models that take and give codes, as models that take and give real values.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Whether an input, or the value of an output, is quantized.
[[nodiscard]] bool has_coded_borders(const GraphView& graph);

/// Inputs that are codes become real values, of their expressed type and with the same name, with a
/// `quantize` behind; in front of outputs that are codes comes a `dequantize`. So the model can be
/// fed, and compared, as the one that it was made of. All else stays. Linear.
void make_borders_real(Graph& graph);

}  // namespace quadrant::inline v0
