// Operations that nothing reads.
#pragma once

#include <mlir/IR/Operation.h>

#include <vector>

namespace quadrant::inline v0::mlir_plugin {

/// Erases those of `operations` that do nothing but make values which nothing reads, and what only
/// they have read.
void erase_unread(std::vector<mlir::Operation*> operations);

}  // namespace quadrant::inline v0::mlir_plugin
