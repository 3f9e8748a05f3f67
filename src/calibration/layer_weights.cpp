#include "calibration/layer_weights.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

using Integers = std::vector<std::int64_t>;

Integers row_major(std::span<const std::int64_t> extents) {
  Integers strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

/// A constant, and how far apart its elements are along the axes of what is made of it.
struct View {
  NodeId constant;
  Integers extents;
  Integers strides;
};

// Floats in another type are nearly the same.
bool is_cast(NodeRef node) {
  const TensorType* const from = node.operand_type(0);
  return node.kind() == ops::Cast::kind && from != nullptr && is_float(from->element) &&
         is_float(node.type().element);
}

bool is_followed(NodeRef node) {
  return node.kind() == ops::Transpose::kind || has_trait(node, Trait::keeps_order) ||
         is_cast(node);
}

// What the node, a transpose or what keeps the order, makes of it.
bool follow(NodeRef node, View& view) {
  const Shape& shape = node.type().shape;
  if (!shape.is_static()) return false;
  const auto now = shape.known_extents();
  if (node.kind() == ops::Transpose::kind) {
    const auto perm = ops::Transpose{node}.perm();
    if (perm.size() != view.extents.size()) return false;
    const View before = view;
    for (std::size_t axis = 0; axis < perm.size(); ++axis) {
      const auto from = static_cast<std::size_t>(perm[axis]);
      view.extents[axis] = before.extents[from];
      view.strides[axis] = before.strides[from];
    }
    return true;
  }
  if (!std::ranges::equal(now, view.extents)) {
    if (view.strides != row_major(view.extents)) return false;
    view.strides = row_major(now);
  }
  view.extents.assign(now.begin(), now.end());
  return true;
}

// Nothing where the value is something else, or not of floats.
std::optional<View> view_of(const Graph& graph, Value value) {
  constexpr std::size_t most_moves = 8;
  std::vector<NodeId> moves;
  while (graph.constant(value.node) == nullptr) {
    const NodeRef node = graph.ref(value.node);
    if (!is_followed(node) || value.result != 0 || moves.size() == most_moves) return std::nullopt;
    moves.push_back(value.node);
    value = node.operand(0);
    if (value.is_absent()) return std::nullopt;
  }
  const TensorType& type = graph.type(value);
  if (type.is_quantized() || !is_float(type.element) || !type.shape.is_static()) {
    return std::nullopt;
  }
  const auto extents = type.shape.known_extents();
  View view{value.node, Integers(extents.begin(), extents.end()), row_major(extents)};
  for (std::size_t i = moves.size(); i-- > 0;) {
    if (!follow(graph.ref(moves[i]), view)) return std::nullopt;
  }
  return view;
}

// Places of all index tuples of those axes, the last one moving first.
Integers places(const View& view, std::size_t first, std::size_t end) {
  Integers found{0};
  for (std::size_t axis = first; axis < end; ++axis) {
    Integers more;
    more.reserve(found.size() * static_cast<std::size_t>(view.extents[axis]));
    for (const std::int64_t place : found) {
      for (std::int64_t i = 0; i < view.extents[axis]; ++i) {
        more.push_back(place + i * view.strides[axis]);
      }
    }
    found = std::move(more);
  }
  return found;
}

Integers steps(std::int64_t count, std::int64_t stride) {
  Integers found(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = static_cast<std::int64_t>(i) * stride;
  return found;
}

// [M, C / groups, taps...], or, where `channel` is 1, [C, M / groups, taps...].
std::optional<WeightMatrices> convolution_layout(View view, std::size_t channel,
                                                 std::int64_t groups) {
  if (view.extents.size() < 2 || groups < 1 || view.extents[0] % groups != 0) return std::nullopt;
  const std::int64_t of_group = view.extents[0] / groups;
  WeightMatrices layout;
  layout.matrices = steps(groups, of_group * view.strides[0]);
  layout.rows = steps(channel == 0 ? of_group : view.extents[1], view.strides[channel]);
  if (channel == 1) {
    view.extents[1] = of_group;
    view.strides[1] = view.strides[0];
  }
  layout.columns = places(view, 1, view.extents.size());
  return layout;
}

// [batch..., rows, columns], or, with `kept_last`, [batch..., columns, rows].
WeightMatrices matrix_layout(const View& view, bool kept_last) {
  const std::size_t rank = view.extents.size();
  if (rank == 1) return {{0}, {0}, steps(view.extents[0], view.strides[0])};
  const std::size_t row = kept_last ? rank - 1 : rank - 2;
  const std::size_t column = kept_last ? rank - 2 : rank - 1;
  return {places(view, 0, rank - 2), steps(view.extents[row], view.strides[row]),
          steps(view.extents[column], view.strides[column])};
}

// 1: the last one, or, where there are two at least, 2: the one before.
std::int64_t axis_from_end(NodeRef node, Value data, bool is_last) {
  const Shape& shape = node.graph->type(data).shape;
  const bool is_vector = shape.is_ranked() && shape.rank() == 1;
  return is_last || is_vector ? 1 : 2;
}

// Of a recurrent layer, W [directions, gates of units, columns], which all that comes in is
// multiplied by, and R, with the units as its columns: of the states that it is multiplied by, the
// layer's results are all but the first.
std::optional<LayerWeight> recurrent_weight(NodeRef node, std::uint32_t operand, const View& view) {
  if (view.extents.size() != 3) return std::nullopt;
  LayerWeight made{.layer = node.id, .weight = operand, .constant = view.constant};
  made.layout.columns = steps(view.extents[2], view.strides[2]);
  if (operand == 1) {
    made.data = node.operand(0);
    made.layout.matrices = {0};
    made.layout.rows = places(view, 0, 2);
    return made;
  }
  if (node.attribute_or<std::int64_t>("layout", 0) != 0) return std::nullopt;
  made.data = node.result();  // [steps, directions, batch, units]
  made.layout.matrices = places(view, 0, 1);
  made.layout.rows = places(view, 1, 2);
  made.batch = {view.extents[0]};
  return made;
}

// Nothing where it is not clear how the layer reads it.
std::optional<LayerWeight> layer_weight(NodeRef node, const Product& product, std::uint32_t operand,
                                        const View& view) {
  LayerWeight made{.layer = node.id,
                   .weight = operand,
                   .data = node.operand(operand == product.weight ? product.data : product.weight),
                   .constant = view.constant};
  if (is_convolution(product)) {
    const auto channel = product.channel(node, node.operand_type(operand)->shape);
    auto layout = convolution_layout(view, static_cast<std::size_t>(channel.value_or(0)),
                                     node.attribute_or<std::int64_t>("group", 1));
    if (!layout) return std::nullopt;
    made.layout = std::move(*layout);
    made.data_axis = 1;
    made.is_convolution = true;
    return made;
  }
  const bool is_transposed = node.kind() == ops::Gemm::kind && ops::Gemm{node}.trans_a();
  const TensorType* const right = node.operand_type(product.weight);
  if (right == nullptr || !right->shape.is_ranked()) return std::nullopt;
  const std::int64_t rank = right->shape.rank();
  const bool right_keeps_last = product.channel(node, right->shape) == rank - 1;
  const bool is_right = operand == product.weight;
  made.layout = matrix_layout(view, is_right ? right_keeps_last : is_transposed);
  made.data_axis = is_right ? axis_from_end(node, made.data, !is_transposed)
                            : axis_from_end(node, made.data, !right_keeps_last);
  const auto& extents = view.extents;
  if (extents.size() > 2) made.batch.assign(extents.begin(), extents.end() - 2);
  return made;
}

}  // namespace

std::vector<LayerWeight> layer_weights(const Graph& graph, std::vector<LeftAlone>& left) {
  std::vector<LayerWeight> found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId id = graph.node_at(index);
    if (!id.is_valid()) continue;
    const NodeRef node = graph.ref(id);
    const auto take = [&](std::uint32_t operand, auto weight_of) {
      if (node.operands().size() <= operand || node.operand(operand).is_absent()) return;
      const auto view = view_of(graph, node.operand(operand));
      if (!view || view->extents.empty() || std::ranges::count(view->extents, 0) != 0) return;
      if (std::optional<LayerWeight> made = weight_of(*view)) {
        found.push_back(std::move(*made));
      } else {
        left.push_back({std::string(graph.value_name({view->constant})),
                        "shapes and attributes do not tell how its layer reads it"});
      }
    };
    const Operation* const operation = find_operation(node);
    if (operation != nullptr && operation->family == Family::recurrent) {
      for (const std::uint32_t operand : {1U, 2U}) {
        take(operand, [&](const View& view) { return recurrent_weight(node, operand, view); });
      }
    }
    const Product* const product = find_product(node);
    if (product == nullptr) continue;
    const auto of_product = [&](std::uint32_t operand) {
      take(operand, [&](const View& view) { return layer_weight(node, *product, operand, view); });
    };
    if (role_of(node, product->data) == Role::factor) of_product(product->data);
    of_product(product->weight);
  }
  return found;
}

std::size_t count_reads(const Graph& graph, NodeId constant) {
  std::vector<NodeId> values{constant};
  std::size_t reads = 0;
  while (!values.empty()) {
    const NodeId node = values.back();
    values.pop_back();
    for (const Use& use : graph.uses(node)) {
      if (use.operand == 0 && is_followed(graph.ref(use.user))) {
        values.push_back(use.user);
      } else {
        ++reads;
      }
    }
  }
  return reads;
}

std::uint64_t bytes_of_probe(const LayerWeight& weight) noexcept {
  if (!weight.is_convolution) return 0;
  const std::uint64_t columns = weight.layout.columns.size();
  const std::uint64_t count =
      saturating_multiply(saturating_multiply(columns, columns), weight.layout.matrices.size());
  return saturating_multiply(count, sizeof(float));
}

LayerProbe probe_of(const Graph& graph, const LayerWeight& weight) {
  const NodeRef node = graph.ref(weight.layer);
  const auto taken = node.operand_type(weight.weight)->shape.known_extents();
  Integers extents(taken.begin(), taken.end());
  const std::size_t columns = weight.layout.columns.size();
  const std::size_t matrices = weight.layout.matrices.size();
  // What is one channel more of the result, and what a channel is multiplied by.
  const bool is_transposed = find_product(node)->channel(node, Shape(extents)) == 1;
  const std::size_t of_group = static_cast<std::size_t>(extents[0]) / matrices;
  std::vector<float> unit(columns * columns * matrices);
  std::size_t taps = 1;
  for (std::size_t axis = 2; axis < extents.size(); ++axis) {
    taps *= static_cast<std::size_t>(extents[axis]);
  }
  for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
    for (std::size_t column = 0; column < columns; ++column) {
      if (!is_transposed) {  // [channels of the result, columns]
        unit[(matrix * columns + column) * columns + column] = 1;
        continue;
      }
      const std::size_t channel = matrix * of_group + column / taps;  // [C, channels, taps]
      unit[(channel * columns + column) * taps + column % taps] = 1;
    }
  }
  extents[is_transposed ? 1 : 0] =
      static_cast<std::int64_t>(is_transposed ? columns : columns * matrices);
  LayerProbe made;
  made.graph.attributes() = graph.attributes();
  const TensorType real{.element = ElementType::float32};
  const Value input = made.graph.add_input("x", real);
  const Value units = made.graph.add_constant(
      "w", Constant::from_values<float>(ElementType::float32, Shape(extents), unit));
  const NodeId layer = made.graph.add({.kind = std::string(node.kind()),
                                       .operands = {input, units},
                                       .results = {{"y", real}},
                                       .attributes = graph.attributes(weight.layer)});
  made.result = {layer};
  made.graph.add_output("out", made.result);
  return made;
}

}  // namespace quadrant::inline v0
