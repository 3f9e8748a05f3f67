// Restricting a run to a part of the graph.
#pragma once

#include <string>
#include <vector>

#include "quadrant/engine/phases/eligibility.hpp"

namespace quadrant::inline v0 {

/// Vetoes, with `reason`, of all that takes part but `included` and what these cannot do without:
///
/// - an operation goes with the weights that serve it: constants that reach it through Quantizable
///   values computed of constants alone;
/// - a weight or an input of the graph goes with the operations that read it, these without their
///   other weights, but for the bias of a product.
///
/// What came quantized and what quantizes or dequantizes already stays. `eligibility` is that of an
/// unrestricted phase 1 over the same graph. Linear.
[[nodiscard]] Vetoes restrict_to(const GraphView& graph, const std::vector<NodeId>& order,
                                 const Eligibility& eligibility,
                                 const std::vector<NodeId>& included, const std::string& reason);

}  // namespace quadrant::inline v0
