// RNN: h' = f(X W' + h R' + biases).
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/recurrent_layer.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> rnn(const KernelCall& call) {
  constexpr std::array<std::string_view, 1> activations{"tanh"};
  QUADRANT_TRY(const RecurrentLayer layer, recurrent_layer(call, 1, activations));
  QUADRANT_TRY(RecurrentResults results, recurrent_results(layer));
  return with_real(layer.x.element(), [&]<class T>() -> Expected<Tensors> {
    for (std::int64_t d = 0; d < layer.directions; ++d) {
      QUADRANT_TRY(const auto projected, project<T>(layer, d, 1));
      const auto cell = [&](RecurrentStep<T>& step) {
        add_product<T>(as_const(step.h), recurrence<T>(layer, d, 0, 1), T{1}, step.gates);
        for (const std::int64_t row : step.rows) {
          const std::span<T> next = row_of(step.gates, row);
          clip_and_activate(layer, layer.activation(d, 0), next);
          std::ranges::copy(next, row_of(step.h, row).begin());
        }
      };
      QUADRANT_CHECK(run_direction(layer, d, projected.matrix, results, cell));
    }
    return Tensors{std::move(results.y), std::move(results.h)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_rnn() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{"rnn", rnn, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
