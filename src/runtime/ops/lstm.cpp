// LSTM: gates i (input), o (output), f (forget) and g (cell), in this order.
//   i, f = f(... + P c),  c' = f c + i g(...),  o = f(... + P c'),  h' = o h(c')
// What is clipped is what comes out of products, as in ONNX Runtime: not the cell.
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/recurrent_layer.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

template <class T>
class LstmCell {
 public:
  LstmCell(const RecurrentLayer& layer, std::int64_t direction, bool input_forget)
      : layer_(layer), direction_(direction), input_forget_(input_forget) {
    if (layer.peepholes) peepholes_ = part_of<T>(layer.peepholes, direction, layer.directions);
  }

  void operator()(RecurrentStep<T>& step) const {
    add_product<T>(as_const(step.h), recurrence<T>(layer_, direction_, 0, 4), T{1}, step.gates);
    for (const std::int64_t row : step.rows) {
      update(row_of(step.gates, row), row_of(step.h, row), row_of(step.c, row));
    }
  }

 private:
  void update(std::span<T> gates, std::span<T> h, std::span<T> c) const {
    const auto gate = [&](std::size_t index) { return gates.subspan(index * h.size(), h.size()); };
    const std::span<T> input = gate(0);
    const std::span<T> output = gate(1);
    const std::span<T> forget = gate(2);
    const std::span<T> cell = gate(3);
    look(input, c, 0);
    activate_gate(input, 0);
    if (input_forget_) {
      std::ranges::transform(input, forget.begin(), [](T i) { return 1 - i; });
    } else {
      look(forget, c, 2);
      activate_gate(forget, 0);
    }
    activate_gate(cell, 1);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = forget[i] * c[i] + input[i] * cell[i];
    look(output, c, 1);
    activate_gate(output, 0);
    std::ranges::copy(c, h.begin());
    activate(layer_.activation(direction_, 2), h);
    for (std::size_t i = 0; i < h.size(); ++i) h[i] *= output[i];
  }

  // Peepholes: adds what the gate sees of the cell.
  void look(std::span<T> gate, std::span<const T> c, std::size_t index) const {
    if (peepholes_.empty()) return;
    const auto weights = peepholes_.subspan(index * c.size(), c.size());
    for (std::size_t i = 0; i < c.size(); ++i) gate[i] += weights[i] * c[i];
  }

  void activate_gate(std::span<T> values, std::size_t activation) const {
    clip_and_activate(layer_, layer_.activation(direction_, activation), values);
  }

  const RecurrentLayer& layer_;
  std::int64_t direction_;
  bool input_forget_;
  std::span<const T> peepholes_;
};

Expected<Tensors> lstm(const KernelCall& call) {
  constexpr std::array<std::string_view, 3> activations{"sigmoid", "tanh", "tanh"};
  QUADRANT_TRY(const RecurrentLayer layer, recurrent_layer(call, 4, activations));
  QUADRANT_TRY(RecurrentResults results, recurrent_results(layer));
  const bool input_forget = call.attribute_or<std::int64_t>("input_forget", 0) != 0;
  return with_real(layer.x.element(), [&]<class T>() -> Expected<Tensors> {
    for (std::int64_t d = 0; d < layer.directions; ++d) {
      QUADRANT_TRY(const auto projected, project<T>(layer, d, 4));
      QUADRANT_CHECK(
          run_direction(layer, d, projected.matrix, results, LstmCell<T>(layer, d, input_forget)));
    }
    return Tensors{std::move(results.y), std::move(results.h), std::move(results.c)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_lstm() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>({{"lstm", lstm, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
