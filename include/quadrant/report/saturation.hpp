// Where sums of two products can leave 16 bits, for people.
#pragma once

#include <span>
#include <string>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/targets/saturation.hpp"

namespace quadrant::inline v0 {

/// One sentence: of how many products the sums can leave 16 bits, in which runtime, or what keeping
/// them there costs. Empty without such products. `graph` is the one that they were found in.
[[nodiscard]] std::string saturation_remark(const GraphView& graph,
                                            std::span<const PairedProduct> products);

/// A table of the runtimes, and one of the products that can saturate, those with the most such
/// pairs first. Empty without such products.
[[nodiscard]] std::string to_string(const GraphView& graph,
                                    std::span<const PairedProduct> products);

/// Of a product, or of a constant that products read: whose integer kernels add its products two by
/// two in 16 bits, once all is codes of 8 bits. Empty: nobody's.
[[nodiscard]] std::string pairing_note(const GraphView& graph, NodeId node);

}  // namespace quadrant::inline v0
