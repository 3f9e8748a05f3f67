// What the recurrent layers have in common: their operands, and the way along the sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/dispatch.hpp"
#include "runtime/matrix_parts.hpp"
#include "runtime/ops/recurrent_activation.hpp"

namespace quadrant::inline v0::interpreted {

/// Operands and attributes, checked: shapes are as ir/ops.hpp says (ops::Rnn and others), all reals
/// of one type.
struct RecurrentLayer {
  std::int64_t directions = 1;
  std::int64_t gates = 1;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  bool first_is_reverse = false;
  bool batch_first = false;
  Tensor x;
  Tensor w;
  Tensor r;
  Tensor bias;                          ///< may be absent
  Tensor initial_h;                     ///< may be absent
  Tensor initial_c;                     ///< may be absent
  Tensor peepholes;                     ///< may be absent
  std::vector<std::int64_t> lengths;    ///< of the sequences of the batch; empty: all steps
  double clip = 0;                      ///< of what activations are applied to; infinity: none
  std::vector<Activation> activations;  ///< of the first direction, then of the other

  [[nodiscard]] bool is_reverse(std::int64_t direction) const {
    return first_is_reverse || direction == 1;
  }
  [[nodiscard]] std::int64_t length(std::int64_t sequence) const {
    return lengths.empty() ? steps : lengths[static_cast<std::size_t>(sequence)];
  }
  /// When the sequence is at its `i`th element: a reversed one begins where it ends, not where the
  /// longest does.
  [[nodiscard]] std::int64_t step_of(std::int64_t i, std::int64_t direction,
                                     std::int64_t sequence) const {
    return is_reverse(direction) ? length(sequence) - 1 - i : i;
  }
  /// Row of the operand X, and of what is computed from it.
  [[nodiscard]] std::int64_t x_row(std::int64_t step, std::int64_t sequence) const {
    return batch_first ? sequence * steps + step : step * batch + sequence;
  }
  /// Row of the result Y.
  [[nodiscard]] std::int64_t y_row(std::int64_t step, std::int64_t direction,
                                   std::int64_t sequence) const {
    return batch_first ? (sequence * steps + step) * directions + direction
                       : (step * directions + direction) * batch + sequence;
  }
  /// Row of a state, given or computed.
  [[nodiscard]] std::int64_t state_row(std::int64_t direction, std::int64_t sequence) const {
    return batch_first ? sequence * directions + direction : direction * batch + sequence;
  }
  /// The `index`th of `count` activations that each direction has.
  [[nodiscard]] const Activation& activation(std::int64_t direction, std::size_t index) const {
    const std::size_t count = activations.size() / static_cast<std::size_t>(directions);
    return activations[static_cast<std::size_t>(direction) * count + index];
  }
};

/// `activations`: the names of those that one direction has.
[[nodiscard]] Expected<RecurrentLayer> recurrent_layer(
    const KernelCall& call, std::int64_t gates, std::span<const std::string_view> activations);

/// All sequences at one step; each has its own row in these matrices of `batch` rows.
template <class T>
struct RecurrentStep {
  std::vector<std::int64_t> rows;  ///< of the sequences that have not ended
  MatrixView<T> gates;             ///< X W' and the biases of one step: what a cell begins with
  MatrixView<T> h;                 ///< the state, which a cell replaces in `rows`
  MatrixView<T> c;                 ///< so too; none but LSTM's cell uses it
};

/// What lies in the operand for one direction.
template <class T>
[[nodiscard]] std::span<const T> part_of(const Tensor& operand, std::int64_t direction,
                                         std::int64_t directions) {
  const auto elements = operand.as<T>();
  const std::size_t count = elements.size() / static_cast<std::size_t>(directions);
  return elements.subspan(static_cast<std::size_t>(direction) * count, count);
}

/// R' of the gates from `first` on, `[H, count H]`.
template <class T>
[[nodiscard]] MatrixView<const T> recurrence(const RecurrentLayer& layer, std::int64_t direction,
                                             std::int64_t first, std::int64_t count) {
  const auto r = part_of<T>(layer.r, direction, layer.directions);
  return MatrixView<const T>::dense(r.data() + first * layer.hidden * layer.hidden, layer.hidden,
                                    count * layer.hidden, true);
}

/// Clips what goes into an activation, and applies it.
template <class T>
void clip_and_activate(const RecurrentLayer& layer, const Activation& activation,
                       std::span<T> values) {
  const auto clip = static_cast<T>(layer.clip);
  for (T& value : values) value = std::clamp(value, -clip, clip);
  activate(activation, values);
}

/// Zeros, `[rows, columns]` of T; Tensor::make refuses a size that a hostile model asks for.
template <class T>
struct RecurrentBuffer {
  Tensor tensor;
  MatrixView<T> matrix;
};
template <class T>
[[nodiscard]] Expected<RecurrentBuffer<T>> recurrent_buffer(const RecurrentLayer& layer,
                                                            std::int64_t rows,
                                                            std::int64_t columns) {
  RecurrentBuffer<T> buffer;
  QUADRANT_TRY(buffer.tensor, Tensor::make(layer.x.element(), {rows, columns}));
  std::ranges::fill(buffer.tensor.template fill<T>(), T{0});
  buffer.matrix = MatrixView<T>::dense(buffer.tensor.template fill<T>().data(), rows, columns);
  return buffer;
}

/// X W' of one direction for all steps and sequences, `[steps * batch, gates H]`, with the biases
/// of W, and those of R for the first `gates_with_recurrent_bias` gates.
template <class T>
[[nodiscard]] Expected<RecurrentBuffer<T>> project(const RecurrentLayer& layer,
                                                   std::int64_t direction,
                                                   std::int64_t gates_with_recurrent_bias) {
  const std::int64_t rows = layer.steps * layer.batch;
  const std::int64_t width = layer.gates * layer.hidden;
  QUADRANT_TRY(auto result, recurrent_buffer<T>(layer, rows, width));
  if (layer.bias) {
    const auto bias = part_of<T>(layer.bias, direction, layer.directions);
    std::vector<T> start(bias.begin(), bias.begin() + width);
    const auto shared = static_cast<std::size_t>(gates_with_recurrent_bias * layer.hidden);
    for (std::size_t i = 0; i < shared; ++i) start[i] += bias[start.size() + i];
    for (std::int64_t row = 0; row < rows; ++row) {
      std::ranges::copy(start, row_of(result.matrix, row).begin());
    }
  }
  add_product<T>(MatrixView<const T>::dense(layer.x.as<T>().data(), rows, layer.inputs),
                 MatrixView<const T>::dense(part_of<T>(layer.w, direction, layer.directions).data(),
                                            layer.inputs, width, true),
                 T{1}, result.matrix);
  return result;
}

/// The results of a layer while it is computed.
struct RecurrentResults {
  Tensor y;
  Tensor h;
  Tensor c;
};
[[nodiscard]] Expected<RecurrentResults> recurrent_results(const RecurrentLayer& layer);

/// Copies rows of states between one direction's matrix and a tensor of both, `[rows, H]`.
template <class T>
void load_states(const RecurrentLayer& layer, std::int64_t direction, const Tensor& from,
                 const MatrixView<T>& to) {
  if (!from) return;
  const auto rows = MatrixView<const T>::dense(from.as<T>().data(), 0, layer.hidden);
  for (std::int64_t b = 0; b < layer.batch; ++b) {
    std::ranges::copy(row_of(rows, layer.state_row(direction, b)), row_of(to, b).begin());
  }
}
template <class T>
void store_states(const RecurrentLayer& layer, std::int64_t direction, const MatrixView<T>& from,
                  Tensor& to) {
  const auto rows = MatrixView<T>::dense(to.fill<T>().data(), 0, layer.hidden);
  for (std::int64_t b = 0; b < layer.batch; ++b) {
    std::ranges::copy(row_of(from, b), row_of(rows, layer.state_row(direction, b)).begin());
  }
}

/// One direction: `cell(step)` computes the next states of `step.rows` out of the present ones.
/// `projected` as `project` gives it.
template <class T, class Cell>
[[nodiscard]] Expected<void> run_direction(const RecurrentLayer& layer, std::int64_t direction,
                                           const MatrixView<T>& projected,
                                           RecurrentResults& results, Cell cell) {
  QUADRANT_TRY(const auto gates,
               recurrent_buffer<T>(layer, layer.batch, layer.gates * layer.hidden));
  QUADRANT_TRY(const auto h, recurrent_buffer<T>(layer, layer.batch, layer.hidden));
  QUADRANT_TRY(const auto c, recurrent_buffer<T>(layer, layer.batch, layer.hidden));
  RecurrentStep<T> step{.gates = gates.matrix, .h = h.matrix, .c = c.matrix};
  load_states(layer, direction, layer.initial_h, step.h);
  load_states(layer, direction, layer.initial_c, step.c);
  const auto y = MatrixView<T>::dense(results.y.fill<T>().data(), 0, layer.hidden);
  for (std::int64_t i = 0; i < layer.steps; ++i) {
    step.rows.clear();
    for (std::int64_t b = 0; b < layer.batch; ++b) {
      if (i >= layer.length(b)) continue;
      step.rows.push_back(b);
      std::ranges::copy(row_of(projected, layer.x_row(layer.step_of(i, direction, b), b)),
                        row_of(step.gates, b).begin());
    }
    if (step.rows.empty()) break;
    cell(step);
    for (const std::int64_t b : step.rows) {
      const std::int64_t row = layer.y_row(layer.step_of(i, direction, b), direction, b);
      std::ranges::copy(row_of(step.h, b), row_of(y, row).begin());
    }
  }
  store_states(layer, direction, step.h, results.h);
  store_states(layer, direction, step.c, results.c);
  return {};
}

}  // namespace quadrant::inline v0::interpreted
