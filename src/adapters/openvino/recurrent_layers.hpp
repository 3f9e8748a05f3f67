// Recurrent layers that OpenVINO computes in another way, and does not say so.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::openvino {

/// `impossible`, with all of them, where there are recurrent layers with lengths of sequences
/// behind an input whose shape is open (the lengths are ignored), with the attribute `layout`
/// (also), or with peepholes (computed otherwise). Seen in release 2026.4.
[[nodiscard]] Expected<void> check_recurrent_layers(const Graph& graph);

}  // namespace quadrant::inline v0::openvino
