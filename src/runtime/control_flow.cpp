#include "runtime/control_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "ir/ops/functions.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<bool> truth_of(const Tensor& condition) {
  if (condition.element() == ElementType::boolean && condition.element_count() == 1) {
    return condition.as<std::uint8_t>().front() != 0;
  }
  return KernelCall::refuse(fmt::format("its condition is {} [{}], not one boolean",
                                        to_string(condition.element()),
                                        to_string(condition.shape())));
}

template <class T>
Expected<Tensor> scalar(ElementType element, T value) {
  QUADRANT_TRY(Tensor made, Tensor::make(element, Shape::scalar()));
  made.fill<T>().front() = value;
  return made;
}

std::size_t count(std::int64_t extents) { return static_cast<std::size_t>(extents); }

// What one step of a scan reads: the elements at `index` of `axis`.
Expected<Tensor> slice_at(const Tensor& whole, std::int64_t axis, std::int64_t index) {
  std::vector<std::int64_t> extents(whole.extents().begin(), whole.extents().end());
  extents.erase(extents.begin() + axis);
  QUADRANT_TRY(Tensor slice, Tensor::make(whole.element(), Shape(extents)));
  if (slice.element_count() == 0) return slice;
  const std::size_t outer = count(count_between(whole.shape(), 0, axis));
  const std::size_t run = slice.bytes().size() / outer;
  const std::size_t stride = run * count(whole.extent(axis));
  for (std::size_t i = 0; i < outer; ++i) {
    std::memcpy(slice.fill_bytes().data() + i * run,
                whole.bytes().data() + i * stride + run * count(index), run);
  }
  return slice;
}

// One of the results that grow by a piece with each iteration.
struct Stacked {
  std::vector<Tensor> pieces;
  std::int64_t axis = 0;
  bool backwards = false;
};

// `type` is what the model says of a piece: needed where there is none.
Expected<Tensor> stack(const Stacked& stacked, const TensorType* type) {
  if (stacked.pieces.empty()) {
    if (type == nullptr || type->element == ElementType::undefined) {
      return KernelCall::refuse("no iteration runs, and the type of what it stacks is not known");
    }
    std::vector<std::int64_t> extents;
    for (std::int64_t i = 0; type->shape.is_ranked() && i < type->shape.rank(); ++i) {
      extents.push_back(type->shape[i].known().value_or(0));
    }
    QUADRANT_TRY(const std::int64_t axis,
                 axis_below(stacked.axis, static_cast<std::int64_t>(extents.size()) + 1));
    extents.insert(extents.begin() + axis, 0);
    return Tensor::make(type->element, Shape(extents));
  }
  const Tensor& first = stacked.pieces.front();
  for (const Tensor& piece : stacked.pieces) {
    if (piece.element() == first.element() && piece.shape() == first.shape()) continue;
    return KernelCall::refuse(fmt::format(
        "iterations yield {} [{}] and {} [{}], which cannot be stacked", to_string(first.element()),
        to_string(first.shape()), to_string(piece.element()), to_string(piece.shape())));
  }
  QUADRANT_TRY(const std::int64_t axis, axis_below(stacked.axis, first.rank() + 1));
  std::vector<std::int64_t> extents(first.extents().begin(), first.extents().end());
  extents.insert(extents.begin() + axis, static_cast<std::int64_t>(stacked.pieces.size()));
  QUADRANT_TRY(Tensor whole, Tensor::make(first.element(), Shape(extents)));
  if (whole.element_count() == 0) return whole;
  const std::size_t outer = count(count_between(first.shape(), 0, axis));
  const std::size_t run = first.bytes().size() / outer;
  const std::span<std::byte> out = whole.fill_bytes();
  for (std::size_t i = 0; i < stacked.pieces.size(); ++i) {
    const std::size_t place = stacked.backwards ? stacked.pieces.size() - 1 - i : i;
    for (std::size_t j = 0; j < outer; ++j) {
      std::memcpy(out.data() + (j * stacked.pieces.size() + place) * run,
                  stacked.pieces[i].bytes().data() + j * run, run);
    }
  }
  return whole;
}

// Moves what an iteration yields behind `skipped` into the state, and the rest to what is stacked.
Expected<void> take_over(Tensors& yielded, std::size_t skipped, Tensors& state,
                         std::vector<Stacked>& stacked) {
  if (yielded.size() != skipped + state.size() + stacked.size()) {
    return KernelCall::refuse(fmt::format("its body yields {} values where {} are wanted",
                                          yielded.size(), skipped + state.size() + stacked.size()));
  }
  const auto next = yielded.begin() + static_cast<std::ptrdiff_t>(skipped);
  std::ranges::move(next, next + static_cast<std::ptrdiff_t>(state.size()), state.begin());
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    stacked[i].pieces.push_back(std::move(yielded[skipped + state.size() + i]));
  }
  return {};
}

// The state, then what was stacked, whose types are those of the last values that the body yields.
Expected<Tensors> results_of(const KernelCall& call, Tensors state,
                             const std::vector<Stacked>& stacked) {
  const std::size_t first = call.node().operands().size() - stacked.size();
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    QUADRANT_TRY(Tensor whole, stack(stacked[i], call.node().operand_type(first + i)));
    state.push_back(std::move(whole));
  }
  return state;
}

Expected<Tensors> run_if(const KernelCall& call, RunBody run) {
  QUADRANT_CHECK(require_operands(call, 1));
  QUADRANT_TRY(const bool holds, truth_of(call.operand(0)));
  return run(holds ? 0 : 1, {});
}

Expected<Tensors> run_loop(const KernelCall& call, RunBody run) {
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  QUADRANT_TRY(const auto stated, integer_parameter(call, 0, {}));
  if (stated) trips = *stated;
  bool goes_on = true;
  if (call.has(1)) {
    QUADRANT_TRY(goes_on, truth_of(call.operand(1)));
  }
  Tensors state;
  for (std::size_t i = 2; i < call.operand_count(); ++i) state.push_back(call.operand(i));
  if (call.result_count() < state.size()) {
    return KernelCall::refuse("it has fewer results than values that go from trip to trip");
  }
  std::vector<Stacked> stacked(call.result_count() - state.size());
  for (std::int64_t trip = 0; trip < trips && goes_on; ++trip) {
    Tensors inputs;
    QUADRANT_TRY(Tensor number, scalar(ElementType::int64, trip));
    QUADRANT_TRY(Tensor condition, scalar<std::uint8_t>(ElementType::boolean, 1));
    inputs.push_back(std::move(number));
    inputs.push_back(std::move(condition));
    inputs.insert(inputs.end(), state.begin(), state.end());
    QUADRANT_TRY(Tensors yielded, run(0, inputs));
    if (yielded.empty()) return KernelCall::refuse("its body yields no condition");
    QUADRANT_TRY(goes_on, truth_of(yielded.front()));
    QUADRANT_CHECK(take_over(yielded, 1, state, stacked));
  }
  return results_of(call, std::move(state), stacked);
}

// A list of one integer for each of `count`; zeros where there is none.
Expected<std::vector<std::int64_t>> numbers(const KernelCall& call, std::string_view name,
                                            std::size_t count) {
  std::vector<std::int64_t> fallback(count, 0);
  auto stated = integers_attribute(call, name).value_or(std::move(fallback));
  if (stated.size() == count) return stated;
  return KernelCall::refuse(
      fmt::format("{} has {} numbers for {} values", name, stated.size(), count));
}

Expected<Tensors> run_scan(const KernelCall& call, RunBody run) {
  constexpr std::int64_t without_batches = 9;
  if (call.opset() < without_batches) {
    return KernelCall::refuse("Scan of opset 8, which goes through batches");
  }
  const auto stated = call.attribute_or<std::int64_t>("num_scan_inputs", 0);
  if (stated < 1 || static_cast<std::uint64_t>(stated) > call.operand_count()) {
    return KernelCall::refuse(
        fmt::format("{} of its {} operands are to be gone through", stated, call.operand_count()));
  }
  const auto scanned = static_cast<std::size_t>(stated);
  const std::size_t states = call.operand_count() - scanned;
  QUADRANT_CHECK(require_operands(call, call.operand_count()));
  if (call.result_count() < states) {
    return KernelCall::refuse("it has fewer results than values that go from step to step");
  }
  QUADRANT_TRY(auto axes, numbers(call, "scan_input_axes", scanned));
  QUADRANT_TRY(const auto directions, numbers(call, "scan_input_directions", scanned));
  std::vector<Stacked> stacked(call.result_count() - states);
  QUADRANT_TRY(const auto out_axes, numbers(call, "scan_output_axes", stacked.size()));
  QUADRANT_TRY(const auto out_directions, numbers(call, "scan_output_directions", stacked.size()));
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    stacked[i] = {.axis = out_axes[i], .backwards = out_directions[i] == 1};
  }
  std::optional<std::int64_t> steps;
  for (std::size_t i = 0; i < scanned; ++i) {
    const Tensor& sequence = call.operand(states + i);
    QUADRANT_TRY(axes[i], axis_below(axes[i], sequence.rank()));
    if (steps && *steps != sequence.extent(axes[i])) {
      return KernelCall::refuse(fmt::format("it goes through {} and {} elements at once", *steps,
                                            sequence.extent(axes[i])));
    }
    steps = sequence.extent(axes[i]);
  }
  Tensors state(call.operands().begin(),
                call.operands().begin() + static_cast<std::ptrdiff_t>(states));
  const std::int64_t count_of_steps = steps.value_or(0);
  for (std::int64_t step = 0; step < count_of_steps; ++step) {
    Tensors inputs = state;
    for (std::size_t i = 0; i < scanned; ++i) {
      const std::int64_t index = directions[i] == 1 ? count_of_steps - 1 - step : step;
      QUADRANT_TRY(Tensor slice, slice_at(call.operand(states + i), axes[i], index));
      inputs.push_back(std::move(slice));
    }
    QUADRANT_TRY(Tensors yielded, run(0, inputs));
    QUADRANT_CHECK(take_over(yielded, 0, state, stacked));
  }
  return results_of(call, std::move(state), stacked);
}

}  // namespace

Expected<Tensors> run_control_flow(const KernelCall& call, RunBody run) {
  const std::string_view kind = call.node().kind();
  if (kind == ops::If::kind) return run_if(call, run);
  if (kind == ops::Loop::kind) return run_loop(call, run);
  return run_scan(call, run);
}

}  // namespace quadrant::inline v0
