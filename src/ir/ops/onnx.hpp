// Operations that are called as ONNX calls them, as types: what methods are registered for, and
// views that read no more of a node than its operands and attributes.
#pragma once

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::ops {

/// `Onnx<"onnx.Relu">`
template <KindName name>
using Onnx = Kind<name>;

}  // namespace quadrant::inline v0::ops
