// Operators that work on one element after the other, whichever order the axes have.
#pragma once

#include <span>

#include "io/tflite/rules.hpp"

namespace quadrant::inline v0::tflite {

/// `code` with the options that it has besides an activation.
schema::OperatorT& emit_elementwise(Model& model, BuiltinOperator code, Tensors operands,
                                    TensorId result);

/// A rule for one operand.
void lower_unary(Lowering& lowering, const NodeRef& node, const Rule& rule);
/// A rule for operands that broadcast, as many as the operator takes. Results are booleans where
/// only the operands are codes.
void lower_broadcasting(Lowering& lowering, const NodeRef& node, const Rule& rule);

}  // namespace quadrant::inline v0::tflite
