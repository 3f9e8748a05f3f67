#include "runtime/ops/control_flow.hpp"

namespace quadrant::inline v0::interpreted {

Expected<Tensors> without_body(const KernelCall& /*call*/) {
  return KernelCall::refuse("its bodies are carried as they are, and cannot be run");
}

}  // namespace quadrant::inline v0::interpreted
