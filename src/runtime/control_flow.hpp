// If, Loop and Scan: which bodies are run, with what, and what becomes of what these yield.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Runs a body of the operation, by its number, and gives what it yields: as many tensors as it has
/// outputs, none of them empty. It is to refuse inputs that are not as many as the body takes.
using RunBody = FunctionRef<Expected<Tensors>(std::size_t body, std::span<const Tensor> inputs)>;

/// Computes the results of `call.node()`, whose own operands the call has; what its bodies yield
/// are the node's further operands (ir/regions.hpp).
///
/// A Loop ends where its body yields a false condition, also where it is given none, as in ONNX
/// Runtime; the standard has it ignored there. Where no iteration runs, what is stacked has the
/// shape that the model states, with 0 for unknown extents.
[[nodiscard]] Expected<Tensors> run_control_flow(const KernelCall& call, RunBody run);

}  // namespace quadrant::inline v0
