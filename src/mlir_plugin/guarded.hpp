// The border between the library and MLIR, which takes no exceptions.
#pragma once

#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Operation.h>

#include <exception>
#include <string>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Calls `body`, which returns an Expected<void>, and says why it failed at the location that
/// `where` finds for the error. No exception passes: allocation is what can fail that way.
template <class Body, class Where>
[[nodiscard]] mlir::LogicalResult guarded(mlir::Operation* op, Body body, Where where) noexcept {
  try {
    const Expected<void> done = body();
    if (done) return mlir::success();
    mlir::emitError(where(done.error()), to_string(done.error()));
  } catch (const std::exception& problem) {
    mlir::emitError(op->getLoc(), std::string("quadrant: ") + problem.what());
  }
  return mlir::failure();
}

/// The same, at `op`.
template <class Body>
[[nodiscard]] mlir::LogicalResult guarded(mlir::Operation* op, Body body) noexcept {
  return guarded(op, std::move(body), [op](const Error& /*error*/) { return op->getLoc(); });
}

}  // namespace quadrant::inline v0::mlir_plugin
