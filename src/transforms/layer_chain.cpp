#include "transforms/layer_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/windows.hpp"
#include "numerics/clamp_bounds.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "transforms/channels.hpp"
#include "transforms/edits.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr std::array scaled_activations{ops::LeakyRelu::kind, ops::PRelu::kind};
// Each channel by itself, where the channels are axis 1.
constexpr std::array pooling_kinds{
    ops::MaxPool::kind,       ops::AveragePool::kind,       ops::LpPool::kind,
    ops::GlobalMaxPool::kind, ops::GlobalAveragePool::kind, ops::GlobalLpPool::kind};
constexpr std::array kinds_with_constants{ops::Add::kind, ops::Sub::kind, ops::Min::kind,
                                          ops::Max::kind};
constexpr std::array scaling_kinds{ops::Multiply::kind, ops::Div::kind};

bool is_among(std::span<const std::string_view> kinds, std::string_view kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// Whether the operand is a constant of one element, a zero.
bool is_zero(const NodeRef& node, std::size_t operand) {
  const Constant* constant = node.operand_constant(operand);
  if (!constant || constant->element_count() != 1) return false;
  const Expected<ConstantBytes> bytes = constant->read();
  return bytes &&
         std::ranges::all_of(bytes->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

// One walk from a layer on.
class ChainWalk {
 public:
  ChainWalk(const Graph& graph, const LinearLayer& layer)
      : graph_(&graph),
        layer_(&layer),
        place_{.axis = layer.result_axis, .rank = layer.rank, .repeat = 1} {}

  OrReason<LayerChain> walk() {
    for (Value value = layer_->result;;) {
      const OrReason<Use> use = only_use(*graph_, value);
      if (!use) return because(use.error());
      if (graph_->type(value).is_quantized()) {
        return because(fmt::format("'{}' is quantized", graph_->value_name(value)));
      }
      if (is_linear(graph_->kind(use->user)) && use->operand == 0) {
        if (place_.repeat == unknown) {
          const OrReason<void> found = find_repeat(use->user);
          if (!found) return because(found.error());
        }
        chain_.next = use->user;
        chain_.end = place_;
        return chain_;
      }
      const OrReason<void> passed = pass(graph_->ref(use->user), *use, value);
      if (!passed) return because(passed.error());
      value = {use->user};
    }
  }

 private:
  static constexpr std::int64_t unknown = 0;  // repeat, until the next layer tells

  [[nodiscard]] tl::unexpected<std::string> ends_at(const NodeRef& node,
                                                    std::string_view reason) const {
    return because(fmt::format("the chain ends at '{}' ({}): {}", label(*graph_, node.id),
                               node.kind(), reason));
  }

  void add(ChainLink::Kind kind, const NodeRef& node, std::uint32_t operand = 0, double high = 0) {
    chain_.links.push_back(
        {.kind = kind, .node = node.id, .operand = operand, .high = high, .place = place_});
  }

  OrReason<void> pass(const NodeRef& node, const Use& use, Value value) {
    const std::string_view kind = node.kind();
    if (is_among(kinds_with_constants, kind) || is_among(scaling_kinds, kind)) {
      return pass_constant(node, use);
    }
    if (use.operand != 0) return ends_at(node, "it does not scale with that operand");
    if (kind == ops::Relu::kind || kind == ops::Clip::kind) return pass_clamp(node);
    if (kind == ops::Flatten::kind || kind == ops::Reshape::kind) return pass_reshape(node, value);
    if (kind == ops::Dropout::kind) {
      if (!node.operand(2).is_absent() && !is_zero(node, 2)) {
        return ends_at(node, "it may be in training form");
      }
    } else if (kind == ops::Pad::kind) {
      const OrReason<void> padded = check_pad(node);
      if (!padded) return padded;
    } else if (is_among(pooling_kinds, kind)) {
      if (place_.axis != 1 - place_.rank) return ends_at(node, "it mixes the channels");
    } else if (kind != ops::Identity::kind && !is_among(scaled_activations, kind)) {
      return ends_at(node, "it does not scale with that operand");
    }
    add(ChainLink::Kind::scaling, node);
    return {};
  }

  OrReason<void> pass_constant(const NodeRef& node, const Use& use) {
    if (use.operand > 1 || node.operands().size() != 2) return ends_at(node, "not two operands");
    const std::uint32_t other = 1 - use.operand;
    if (place_.repeat == unknown) return ends_at(node, "its extents are not known");
    const Constant* constant = node.operand_constant(other);
    const std::int64_t channels = layer_->layout.outputs() * place_.repeat;
    if (!constant || constant->element() != layer_->element ||
        node.operand_type(other)->is_quantized() ||
        !is_channelwise(*constant, channels, place_.axis, place_.rank)) {
      return ends_at(node, "its other operand is not one constant a channel");
    }
    const bool is_factor = is_among(scaling_kinds, node.kind());
    if (node.kind() == ops::Div::kind && use.operand != 0) {
      return ends_at(node, "it divides by the result");
    }
    const Expected<std::vector<double>> values = read_reals(*constant);
    if (!values || !are_finite(ElementType::float64, *values)) {
      return ends_at(node, "its constant cannot be read, or is not finite");
    }
    add(is_factor ? ChainLink::Kind::scaling : ChainLink::Kind::constant, node, other);
    return {};
  }

  OrReason<void> pass_clamp(const NodeRef& node) {
    const std::optional<ClampBounds> bounds = clamp_bounds(node);
    if (!bounds) return ends_at(node, "its min or max is computed, or limits to nothing");
    const bool is_open = std::isinf(bounds->high);
    if (std::isinf(bounds->low) && is_open) {
      add(ChainLink::Kind::scaling, node);
    } else if (bounds->low == 0 && is_open) {
      add(ChainLink::Kind::relu, node);
    } else if (bounds->low == 0 && bounds->high > 0) {
      add(ChainLink::Kind::clip, node, 0, bounds->high);
    } else {
      return ends_at(node, fmt::format("it clips to [{}, {}], where [0, more] is wanted",
                                       bounds->low, bounds->high));
    }
    return {};
  }

  // Channels become runs of elements of the second axis: `[N, C, H, W]` to `[N, C H W]`.
  OrReason<void> pass_reshape(const NodeRef& node, Value value) {
    const TensorType& from = graph_->type(value);
    const TensorType& to = node.type();
    if (place_.axis != 1 - place_.rank) return ends_at(node, "the channels are the last axis");
    if (!keeps_samples(node, from.shape, to.shape)) {
      return ends_at(node, "it is not known to keep samples apart");
    }
    add(ChainLink::Kind::scaling, node);
    place_ = {.axis = -1, .rank = 2, .repeat = unknown};
    if (to.shape.rank() == 2 && to.shape[1].is_known()) {
      return set_repeat(node, to.shape[1].value());
    }
    return {};
  }

  [[nodiscard]] bool keeps_samples(const NodeRef& node, const Shape& from, const Shape& to) const {
    if (node.kind() == ops::Flatten::kind) {
      return node.attribute_or<std::int64_t>("axis", 1) == 1;
    }
    const Constant* target = node.operand_constant(1);
    if (target != nullptr && !ops::Reshape{node}.allow_zero()) {
      const auto extents = read_integers(*target, 2);
      if (extents && *extents == std::vector<std::int64_t>{0, -1}) return true;
    }
    if (from.rank() != place_.rank || to.rank() != 2 || !to[1].is_known()) return false;
    const Shape inner(std::vector<Extent>(from.extents().begin() + 1, from.extents().end()));
    return inner.element_count() == to[1].value();
  }

  // Where the width is not known, the layer behind knows how many inputs it has.
  OrReason<void> find_repeat(NodeId next) {
    const OrReason<LinearLayer> layer = find_layer(*graph_, next);
    if (!layer) return because(layer.error());
    OrReason<void> found = set_repeat(graph_->ref(next), layer->layout.inputs());
    if (!found) return found;
    for (ChainLink& link : chain_.links) {
      if (link.place.repeat == unknown) link.place.repeat = place_.repeat;
    }
    return {};
  }

  OrReason<void> set_repeat(const NodeRef& node, std::int64_t width) {
    const std::int64_t channels = layer_->layout.outputs();
    if (width <= 0 || width % channels != 0) {
      return ends_at(node, fmt::format("{} elements are not runs of {} channels", width, channels));
    }
    place_.repeat = width / channels;
    return {};
  }

  [[nodiscard]] OrReason<void> check_pad(const NodeRef& node) const {
    std::vector<std::int64_t> pads = node.attribute_or("pads", std::vector<std::int64_t>{});
    if (const Constant* constant = node.operand_constant(1)) {
      Expected<std::vector<std::int64_t>> read = read_integers(*constant);
      if (read) pads = *std::move(read);
    }
    const auto rank = static_cast<std::size_t>(place_.rank);
    const auto channel = static_cast<std::size_t>(place_.rank + place_.axis);
    // An axis list of opset 18 makes `pads` another length, or another order.
    if (!traits_of(node).contains(Trait::stays_in_range) || pads.size() != 2 * rank ||
        !node.operand(3).is_absent() || pads[channel] != 0 || pads[rank + channel] != 0) {
      return ends_at(node, "it is not known to pad each channel with zeros");
    }
    return {};
  }

  const Graph* graph_;
  const LinearLayer* layer_;
  ChannelPlace place_;
  LayerChain chain_;
};

}  // namespace

Expected<std::vector<double>> read_link(const Graph& graph, const LinearLayer& first,
                                        const ChainLink& link) {
  return read_channels(*graph.ref(link.node).operand_constant(link.operand),
                       first.layout.outputs() * link.place.repeat);
}

Constant link_constant(const LinearLayer& first, const ChannelPlace& place,
                       std::span<const double> values) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(-place.axis), 1);
  extents[0] = static_cast<std::int64_t>(values.size());
  return rounded_constant(first.element, Shape(extents), values);
}

OrReason<LayerChain> follow_chain(const Graph& graph, const LinearLayer& layer) {
  return ChainWalk(graph, layer).walk();
}

}  // namespace quadrant::inline v0
