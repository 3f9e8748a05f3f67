// How many operands and results ONNX's own operators have.
#pragma once

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::detail {

/// `invalid_model` where `node` is an operator of ONNX's default domain, in any of its versions,
/// that lacks operands or results which it must have, or has more than it can. Says nothing of
/// others. Operands that subgraphs capture come behind the operator's own, and are not counted.
[[nodiscard]] Expected<void> check_onnx_signature(NodeRef node);

}  // namespace quadrant::inline v0::detail
