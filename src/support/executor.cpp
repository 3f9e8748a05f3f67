#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

void SerialExecutor::parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace quadrant::inline v0
