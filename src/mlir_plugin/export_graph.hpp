// A function of MLIR as a graph of the library, for its files and runtimes.
#pragma once

#include <mlir/Interfaces/FunctionInterfaces.h>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// The same computation: arguments are inputs, returned values outputs, `quant.qcast`,
/// `quant.dcast` and `quant.scast` the library's conversions. Constants stay where MLIR keeps them:
/// the graph lives as long as the module's context at most. `impossible` names what has no
/// counterpart: other dialects, several blocks, values that are no tensors, shapes that are not
/// static; `at` is where that is.
[[nodiscard]] Expected<Graph> export_graph(mlir::FunctionOpInterface function, mlir::Location& at);

}  // namespace quadrant::inline v0::mlir_plugin
