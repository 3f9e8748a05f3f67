// Observers: calls that hand the values of a function, as it runs, to the library that gathers
// their statistics (observers/observe.cpp).
#pragma once

#include <mlir/IR/BuiltinOps.h>

#include <string>

#include "mlir_plugin/function_graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// What statistics call a value: FUNCTION:VALUE.
[[nodiscard]] std::string observed_name(const FunctionGraph& graph, Value value);

/// Puts an observer behind each float tensor that `graph`, a function of `module`, computes or is
/// given, constants and places for results excepted; `statistics` is the file that the running
/// program writes. `graph` is not to be used any more. `impossible` where the module calls
/// something else as the observers are called.
[[nodiscard]] Expected<void> insert_observers(const FunctionGraph& graph, mlir::ModuleOp module,
                                              const std::string& statistics);

/// Adds a function, `entry`, which calls `function` with each sample of `data` (`open_data_set`).
/// Its arrays are called as the arguments are: by `quadrant.name`, or else `argument_0` and so on.
/// `impossible` where the module has a function of that name, or the function an argument that is
/// no tensor of known rank.
[[nodiscard]] Expected<void> add_entry(mlir::FunctionOpInterface function, mlir::ModuleOp module,
                                       const std::string& entry, const std::string& data);

}  // namespace quadrant::inline v0::mlir_plugin
