#include "runtime/ops/control_flow.hpp"

#include "ir/ops/functions.hpp"
#include "runtime/kernel_tables.hpp"

namespace quadrant::inline v0::interpreted {

Expected<Tensors> without_body(const KernelCall& /*call*/) {
  return KernelCall::refuse("its bodies are carried as they are, and cannot be run");
}

std::span<const KernelEntry> kernels::in_control_flow() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{ops::If::kind, without_body},
                                                            {ops::Loop::kind, without_body},
                                                            {ops::Scan::kind, without_body}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
