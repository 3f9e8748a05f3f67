#include "runtime/kernels.hpp"

#include <algorithm>
#include <array>

#include "runtime/ops/attention.hpp"
#include "runtime/ops/control_flow.hpp"
#include "runtime/ops/convolution.hpp"
#include "runtime/ops/einsum.hpp"
#include "runtime/ops/elementwise.hpp"
#include "runtime/ops/indexing.hpp"
#include "runtime/ops/linear.hpp"
#include "runtime/ops/losses.hpp"
#include "runtime/ops/moves.hpp"
#include "runtime/ops/normalization.hpp"
#include "runtime/ops/pooling.hpp"
#include "runtime/ops/quantization.hpp"
#include "runtime/ops/recurrent.hpp"
#include "runtime/ops/reductions.hpp"
#include "runtime/ops/resampling.hpp"

namespace quadrant::inline v0 {

namespace {

// The tables of the headers of ops/, put together while compiling.
template <std::size_t... Sizes>
constexpr auto join(const std::array<KernelEntry, Sizes>&... tables) {
  std::array<KernelEntry, (Sizes + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& table) {
    for (const KernelEntry& entry : table) all[next++] = entry;
  };
  (append(tables), ...);
  std::ranges::sort(all, {}, &KernelEntry::kind);
  return all;
}

constexpr auto kernels =
    join(interpreted::attentions, interpreted::control_flow, interpreted::convolutions,
         interpreted::einsums, interpreted::elementwise, interpreted::indexing, interpreted::losses,
         interpreted::moves, interpreted::normalization, interpreted::pools, interpreted::products,
         interpreted::quantization, interpreted::recurrent, interpreted::reductions,
         interpreted::resampling);

static_assert(std::ranges::adjacent_find(kernels, {}, &KernelEntry::kind) == kernels.end(),
              "an operation is listed twice");

}  // namespace

std::span<const KernelEntry> builtin_kernels() noexcept { return kernels; }

}  // namespace quadrant::inline v0
