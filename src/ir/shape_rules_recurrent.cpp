// https://onnx.ai/onnx/operators/onnx__RNN.html, ..._GRU.html, ..._LSTM.html
#include <fmt/format.h>

#include <array>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

enum Quantity : std::uint8_t { sequence, batch, inputs, directions, hidden };

// What is known of each quantity, from whichever operand or attribute says it.
class Quantities {
 public:
  // `stated` is `factor` times the quantity.
  Expected<void> learn(Quantity quantity, std::int64_t factor, Extent stated) {
    if (!stated.is_known()) return {};
    const std::int64_t extent = stated.value();
    const std::int64_t value = extent / factor;
    Extent& known = extents_[quantity];
    if (extent % factor != 0 || !may_equal(known, value)) {
      constexpr std::array names{"sequence", "batch", "inputs", "directions", "hidden units"};
      return invalid(fmt::format("the operands disagree about {}: an extent of {}, where {} is {}",
                                 names[quantity], extent, factor,
                                 known.is_known() ? "the factor" : "a divisor"));
    }
    known = value;
    return {};
  }

  [[nodiscard]] Extent operator[](Quantity quantity) const { return extents_[quantity]; }

 private:
  std::vector<Extent> extents_ = std::vector(5, Extent::open());
};

// The extent of an axis.
struct Multiple {
  Quantity quantity = sequence;
  std::int64_t factor = 1;
};

Expected<void> learn(NodeRef node, std::size_t operand, std::span<const Multiple> extents,
                     Quantities& known) {
  const Shape shape = operand_shape(node, operand);
  if (!shape.is_ranked()) return {};
  if (std::cmp_not_equal(shape.rank(), extents.size())) {
    return invalid(fmt::format("operand {} has {} dimensions and not {}", operand, shape.rank(),
                               extents.size()));
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    QUADRANT_CHECK(
        known.learn(extents[axis].quantity, extents[axis].factor, shape.extents()[axis]));
  }
  return {};
}

std::int64_t gates_of(NodeRef node) {
  if (node.kind() == ops::Lstm::kind) return ops::Lstm::gates;
  return node.kind() == ops::Gru::kind ? ops::Gru::gates : ops::Rnn::gates;
}

}  // namespace

Expected<std::vector<TensorType>> infer_recurrent(NodeRef node) {
  TensorType type;
  QUADRANT_TRY(type.element, common_element(node, 4));  // the next operand counts in integers
  std::vector<TensorType> results(node.graph->result_count(node.id), type);

  QUADRANT_TRY(const std::int64_t layout, attribute_or<std::int64_t>(node, "layout", 0));
  QUADRANT_TRY(const auto direction, attribute_or<std::string>(node, "direction", "forward"));
  QUADRANT_TRY(const auto hidden_size, attribute_or<std::int64_t>(node, "hidden_size", 0));
  const bool both = direction == "bidirectional";
  if (!both && direction != "forward" && direction != "reverse") {
    return invalid(fmt::format("attribute 'direction' holds '{}'", direction));
  }
  if (layout != 0 && layout != 1)
    return invalid(fmt::format("attribute 'layout' holds {}", layout));

  Quantities known;
  QUADRANT_CHECK(known.learn(directions, 1, both ? 2 : 1));
  if (hidden_size > 0) QUADRANT_CHECK(known.learn(hidden, 1, hidden_size));

  const std::int64_t gates = gates_of(node);
  using Three = std::array<Multiple, 3>;
  const Three x =
      layout == 0 ? Three{{{sequence}, {batch}, {inputs}}} : Three{{{batch}, {sequence}, {inputs}}};
  const Three w{{{directions}, {hidden, gates}, {inputs}}};
  const Three r{{{directions}, {hidden, gates}, {hidden}}};
  const Three state = layout == 0 ? Three{{{directions}, {batch}, {hidden}}}
                                  : Three{{{batch}, {directions}, {hidden}}};
  const std::array<Multiple, 2> bias{{{directions}, {hidden, 2 * gates}}};
  const std::array<Multiple, 1> lengths{{{batch}}};
  const std::array<Multiple, 2> peepholes{{{directions}, {hidden, 3}}};
  const std::array<std::span<const Multiple>, 8> shapes{x,       w,     r,     bias,
                                                        lengths, state, state, peepholes};
  for (std::size_t operand = 0; operand < node.operands().size(); ++operand) {
    QUADRANT_CHECK(learn(node, operand, shapes[operand], known));
  }

  const std::array<Quantity, 4> all = layout == 0 ? std::array{sequence, directions, batch, hidden}
                                                  : std::array{batch, sequence, directions, hidden};
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<Extent> extents;
    if (i == 0) {
      for (const Quantity quantity : all) extents.push_back(known[quantity]);
    } else {
      for (const Multiple& extent : state) extents.push_back(known[extent.quantity]);
    }
    results[i].shape = Shape(std::move(extents));
  }
  return results;
}

}  // namespace quadrant::inline v0::detail
