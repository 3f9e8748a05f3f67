// Passes that are about one function of a module.
#pragma once

#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <string_view>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// The function with a body that is called `name`; empty: the only one. `usage`, naming the pass,
/// where there is none or there are several, and where `root` is a function itself.
[[nodiscard]] Expected<mlir::FunctionOpInterface> find_one_function(mlir::Operation* root,
                                                                    std::string_view name,
                                                                    std::string_view pass);

}  // namespace quadrant::inline v0::mlir_plugin
