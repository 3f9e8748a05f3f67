// GRU: gates z (update), r (reset) and h (candidate), in this order.
//   z = f(Xz + h Rz'),  r = f(Xr + h Rr'),  c = g(Xh + (r h) Rh'),  h' = (1 - z) c + z h
// With linear_before_reset: c = g(Xh + r (h Rh' + Rbh)).
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/recurrent_layer.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

template <class T>
class GruCell {
 public:
  // `scratch`: [batch, H].
  GruCell(const RecurrentLayer& layer, std::int64_t direction, bool linear_before_reset,
          const MatrixView<T>& scratch)
      : layer_(layer),
        direction_(direction),
        linear_before_reset_(linear_before_reset),
        scratch_(scratch) {}

  void operator()(RecurrentStep<T>& step) {
    const std::int64_t hidden = layer_.hidden;
    add_product<T>(as_const(step.h), recurrence<T>(layer_, direction_, 0, 2), T{1},
                   columns_of(step.gates, 0, 2 * hidden));
    for (const std::int64_t row : step.rows) {
      clip_and_activate(layer_, layer_.activation(direction_, 0),
                        row_of(columns_of(step.gates, 0, 2 * hidden), row));
    }
    add_candidate(step);
    for (const std::int64_t row : step.rows) update(step, row);
  }

 private:
  // The recurrent part of the candidate.
  void add_candidate(RecurrentStep<T>& step) {
    const std::int64_t hidden = layer_.hidden;
    const MatrixView<T> reset = columns_of(step.gates, hidden, hidden);
    const MatrixView<T> candidate = columns_of(step.gates, 2 * hidden, hidden);
    const MatrixView<const T> r = recurrence<T>(layer_, direction_, 2, 1);
    if (!linear_before_reset_) {
      for (const std::int64_t row : step.rows) {
        std::ranges::transform(row_of(reset, row), row_of(step.h, row),
                               row_of(scratch_, row).begin(), std::multiplies<T>());
      }
      add_product<T>(as_const(scratch_), r, T{1}, candidate);
      return;
    }
    for (const std::int64_t row : step.rows) start_with_bias(row_of(scratch_, row));
    add_product<T>(as_const(step.h), r, T{1}, scratch_);
    for (const std::int64_t row : step.rows) {
      const std::span<T> to = row_of(candidate, row);
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] += row_of(reset, row)[i] * row_of(scratch_, row)[i];
      }
    }
  }

  // Rbh, the last part of the biases.
  void start_with_bias(std::span<T> row) const {
    std::ranges::fill(row, T{0});
    if (!layer_.bias) return;
    std::ranges::copy(part_of<T>(layer_.bias, direction_, layer_.directions).last(row.size()),
                      row.begin());
  }

  void update(RecurrentStep<T>& step, std::int64_t row) const {
    const std::span<T> gates = row_of(step.gates, row);
    const std::span<T> h = row_of(step.h, row);
    const std::span<T> candidate = gates.last(h.size());
    clip_and_activate(layer_, layer_.activation(direction_, 1), candidate);
    for (std::size_t i = 0; i < h.size(); ++i) {
      h[i] = (1 - gates[i]) * candidate[i] + gates[i] * h[i];
    }
  }

  const RecurrentLayer& layer_;
  std::int64_t direction_;
  bool linear_before_reset_;
  MatrixView<T> scratch_;
};

Expected<Tensors> gru(const KernelCall& call) {
  constexpr std::array<std::string_view, 2> activations{"sigmoid", "tanh"};
  QUADRANT_TRY(const RecurrentLayer layer, recurrent_layer(call, 3, activations));
  QUADRANT_TRY(RecurrentResults results, recurrent_results(layer));
  const bool linear_before_reset = call.attribute_or<std::int64_t>("linear_before_reset", 0) != 0;
  return with_real(layer.x.element(), [&]<class T>() -> Expected<Tensors> {
    for (std::int64_t d = 0; d < layer.directions; ++d) {
      QUADRANT_TRY(const auto projected, project<T>(layer, d, linear_before_reset ? 2 : 3));
      QUADRANT_TRY(const auto scratch, recurrent_buffer<T>(layer, layer.batch, layer.hidden));
      QUADRANT_CHECK(run_direction(layer, d, projected.matrix, results,
                                   GruCell<T>(layer, d, linear_before_reset, scratch.matrix)));
    }
    return Tensors{std::move(results.y), std::move(results.h)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_gru() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{"gru", gru, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
