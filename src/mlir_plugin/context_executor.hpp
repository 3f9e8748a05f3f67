// The threads of MLIR's context, lent to the library.
#pragma once

#include <mlir/IR/MLIRContext.h>

#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Runs loops in the context's threads, or in the calling one where the context has none
/// (`--mlir-disable-threading`). May be used inside of them, by several passes at once.
class ContextExecutor final : public Executor {
 public:
  /// `context` must outlive it.
  explicit ContextExecutor(mlir::MLIRContext* context) : context_(context) {}

  /// What a body throws (it should not, but memory can run out) is thrown on here, after the loop.
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override;

 private:
  mlir::MLIRContext* context_;
};

}  // namespace quadrant::inline v0::mlir_plugin
