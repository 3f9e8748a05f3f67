#include "runtime/ops/recurrent_layer.hpp"

#include <limits>

#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Extents = std::vector<std::int64_t>;

// The operand, which must have this shape and X's type where it is there.
Expected<Tensor> real_operand(const KernelCall& call, std::size_t index, const Extents& extents) {
  const Tensor& operand = call.operand(index);
  const bool fits =
      operand.shape() == Shape(extents) && operand.element() == call.operand(0).element();
  if (!operand || fits) return operand;
  return KernelCall::refuse(fmt::format(
      "operand {} is {} [{}], where {} [{}] is wanted", index, to_string(operand.element()),
      to_string(operand.shape()), to_string(call.operand(0).element()), to_string(Shape(extents))));
}

Expected<void> read_direction(const KernelCall& call, RecurrentLayer& layer) {
  const auto direction = call.attribute_or("direction", std::string("forward"));
  layer.first_is_reverse = direction == "reverse";
  layer.directions = direction == "bidirectional" ? 2 : 1;
  if (direction == "forward" || layer.first_is_reverse || layer.directions == 2) return {};
  return KernelCall::refuse(fmt::format("the direction '{}' is not known", direction));
}

Expected<void> read_extents(const KernelCall& call, RecurrentLayer& layer) {
  QUADRANT_CHECK(require_operands(call, 3));
  layer.x = call.operand(0);
  const Tensor& r = call.operand(2);
  if (layer.x.rank() != 3 || r.rank() != 3) {
    return KernelCall::refuse(fmt::format("X [{}] and R [{}], where each must have 3 axes",
                                          to_string(layer.x.shape()), to_string(r.shape())));
  }
  layer.batch_first = call.attribute_or<std::int64_t>("layout", 0) != 0;
  layer.steps = layer.x.extent(layer.batch_first ? 1 : 0);
  layer.batch = layer.x.extent(layer.batch_first ? 0 : 1);
  layer.inputs = layer.x.extent(2);
  layer.hidden = r.extent(2);
  if (layer.inputs == 0 || layer.hidden == 0) {
    return KernelCall::refuse(
        fmt::format("{} inputs and {} hidden units", layer.inputs, layer.hidden));
  }
  const auto stated = call.attribute_or("hidden_size", layer.hidden);
  if (stated == layer.hidden) return {};
  return KernelCall::refuse(
      fmt::format("hidden_size is {}, but R has {} hidden units", stated, layer.hidden));
}

Expected<void> read_lengths(const KernelCall& call, RecurrentLayer& layer) {
  if (!call.has(4)) return {};
  QUADRANT_TRY(layer.lengths, integers_of(call.operand(4)));
  const bool fits = std::ranges::all_of(
      layer.lengths, [&](std::int64_t length) { return length >= 0 && length <= layer.steps; });
  if (fits && layer.lengths.size() == static_cast<std::size_t>(layer.batch)) return {};
  return KernelCall::refuse(
      fmt::format("sequence_lens are not {} lengths between 0 and {}", layer.batch, layer.steps));
}

}  // namespace

Expected<RecurrentLayer> recurrent_layer(const KernelCall& call, std::int64_t gates,
                                         std::span<const std::string_view> activations) {
  RecurrentLayer layer{.gates = gates};
  QUADRANT_CHECK(read_direction(call, layer));
  QUADRANT_CHECK(read_extents(call, layer));
  QUADRANT_CHECK(read_lengths(call, layer));
  const std::int64_t d = layer.directions;
  const std::int64_t h = layer.hidden;
  const Extents state = layer.batch_first ? Extents{layer.batch, d, h} : Extents{d, layer.batch, h};
  QUADRANT_TRY(layer.w, real_operand(call, 1, {d, gates * h, layer.inputs}));
  QUADRANT_TRY(layer.r, real_operand(call, 2, {d, gates * h, h}));
  QUADRANT_TRY(layer.bias, real_operand(call, 3, {d, 2 * gates * h}));
  QUADRANT_TRY(layer.initial_h, real_operand(call, 5, state));
  QUADRANT_TRY(layer.initial_c, real_operand(call, 6, state));
  QUADRANT_TRY(layer.peepholes, real_operand(call, 7, {d, 3 * h}));
  layer.clip = call.attribute_or("clip", std::numeric_limits<double>::infinity());
  if (!(layer.clip >= 0)) return KernelCall::refuse(fmt::format("clip is {}", layer.clip));
  QUADRANT_TRY(layer.activations,
               activations_of(call, activations.size() * static_cast<std::size_t>(d), activations));
  return layer;
}

Expected<RecurrentResults> recurrent_results(const RecurrentLayer& layer) {
  const ElementType element = layer.x.element();
  const std::int64_t d = layer.directions;
  const Shape y = layer.batch_first ? Shape{layer.batch, layer.steps, d, layer.hidden}
                                    : Shape{layer.steps, d, layer.batch, layer.hidden};
  const Shape state =
      layer.batch_first ? Shape{layer.batch, d, layer.hidden} : Shape{d, layer.batch, layer.hidden};
  RecurrentResults results;
  QUADRANT_TRY(results.y, Tensor::make(element, y));
  QUADRANT_TRY(results.h, Tensor::make(element, state));
  QUADRANT_TRY(results.c, Tensor::make(element, state));
  std::ranges::fill(results.y.fill_bytes(), std::byte{0});  // beyond the end of a sequence
  return results;
}

}  // namespace quadrant::inline v0::interpreted
