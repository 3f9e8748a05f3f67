#include "mlir_plugin/context_executor.hpp"

#include <mlir/IR/Threading.h>

#include <exception>
#include <mutex>

namespace quadrant::inline v0::mlir_plugin {

void ContextExecutor::parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) {
  std::mutex mutex;
  std::exception_ptr problem;  // guarded by mutex
  mlir::parallelFor(context_, 0, count, [&](std::size_t i) {
    // The context's threads drop what is thrown.
    try {
      body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!problem) problem = std::current_exception();
    }
  });
  if (problem) std::rethrow_exception(problem);
}

}  // namespace quadrant::inline v0::mlir_plugin
