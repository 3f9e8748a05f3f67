// What moves elements without looking at them: shapes, axes, copies, borders.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "numerics/clamp_bounds.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

bool raise_reshape(RaisedLayer& layer) {
  const bool copies = layer.flag("special_zero", false);
  const Value shape = layer.wide(layer.input(1), "shape");
  layer.make(ops::Reshape::kind, {layer.input(0), shape},
             {{"allowzero", std::int64_t{copies ? 0 : 1}}});
  return true;
}

void lower_reshape(LoweredNode& node) {
  node.make({"Reshape"}, std::array{real_operand(node, 0, Scales::several), node.operand(1)},
            {{"special_zero", text_of(!ops::Reshape{node.node()}.allow_zero())}});
}

bool raise_transpose(RaisedLayer& layer) {
  auto perm = layer.constant_integers(1);
  if (!perm) return false;
  if (perm->empty()) {
    layer.make(ops::Transpose::kind, {layer.input(0)});
  } else {
    layer.make(ops::Transpose::kind, {layer.input(0)}, {{"perm", *std::move(perm)}});
  }
  return true;
}

void lower_transpose(LoweredNode& node) {
  const auto perm = ops::Transpose{node.node()}.perm();
  const Output order = node.integers("order", perm);  // empty: reversed, there as here
  node.make({"Transpose"}, std::array{node.operand(0), order});
}

bool raise_concat(RaisedLayer& layer) {
  const auto axis = layer.integer("axis");
  if (!axis) invalid("a Concat without an axis");
  layer.make(ops::Concat::kind, all_inputs(layer), {{"axis", *axis}});
  return true;
}

void lower_concat(LoweredNode& node) {
  const Attribute* given = node.node().graph->attribute(node.node().id, "axis");
  const auto* axis = given != nullptr ? std::get_if<std::int64_t>(given) : nullptr;
  if (axis == nullptr) invalid("a concat along no axis");
  node.make({"Concat"}, all_operands(node), {{"axis", std::to_string(*axis)}});
}

// --- axes of extent 1 ----------------------------------------------------------------------------

/// The list that input 1 is, which there may be one number.
Value list_input(RaisedLayer& layer, std::size_t index, std::string_view ending) {
  if (const auto values = layer.constant_integers(index)) return layer.list(ending, *values);
  return layer.wide(layer.input(index), ending);
}

bool raise_squeezing(RaisedLayer& layer) {
  if (layer.flag("allow_axis_skip", false)) return false;
  std::vector<Value> operands{layer.input(0)};
  if (layer.input_count() > 1) operands.push_back(list_input(layer, 1, "axes"));
  layer.make(layer.type() == "Squeeze" ? ops::Squeeze::kind : ops::Unsqueeze::kind,
             std::move(operands));
  return true;
}

void lower_squeezing(LoweredNode& node) {
  std::vector<Output> inputs{node.operand(0)};
  if (const auto axes = list_operand(node, 1, "axes")) {
    inputs.push_back(*axes);
  } else if (!node.type(0).shape.is_static()) {
    impossible("no axes, of an operand whose extents are not known");
  }
  node.make({node.node().kind() == ops::Squeeze::kind ? "Squeeze" : "Unsqueeze"}, inputs);
}

void lower_flatten(LoweredNode& node) {
  const auto axis = ops::Flatten{node.node()}.axis();
  if (!axis) impossible("an axis that is not known");
  const Shape& shape = node.ranked(0);
  const std::int64_t before = known_count(shape, 0, *axis).value_or(-1);
  const std::int64_t behind = known_count(shape, *axis, shape.rank()).value_or(-1);
  LayerChain chain(node);
  const Output wanted =
      std::max(before, behind) > 0
          ? chain.integers({before, behind})
          : chain.joined({chain.count(0, *axis), chain.count(*axis, shape.rank())});
  node.make({"Reshape"}, std::array{node.operand(0), wanted}, {{"special_zero", "false"}});
}

// --- copies --------------------------------------------------------------------------------------

bool raise_broadcast(RaisedLayer& layer) {
  const std::string mode = layer.text("mode", "numpy");
  const Value data = layer.input(0);
  const Value shape = layer.wide(layer.input(1), "shape");
  if (mode == "numpy" || mode == "bidirectional") {
    layer.make(ops::Expand::kind, {data, shape});
    return true;
  }
  const auto mapping = layer.constant_integers(2);
  const Shape& wanted = layer.shape_of(layer.input(1));
  const bool is_known = mapping && wanted.is_static() && wanted.rank() == 1;
  if (mode != "explicit" || !is_known || !std::ranges::is_sorted(*mapping)) return false;
  constexpr std::int64_t most_dimensions = 64;
  if (wanted[0].value() > most_dimensions) return false;
  std::vector<std::int64_t> missing;
  for (const std::int64_t axis : axes_from(0, wanted[0].value())) {
    if (std::ranges::find(*mapping, axis) == mapping->end()) missing.push_back(axis);
  }
  const Value widened = stepped(layer, ops::Unsqueeze::kind, {data, layer.list("axes", missing)});
  layer.make(ops::Expand::kind, {widened, shape});
  return true;
}

void lower_expand(LoweredNode& node) {
  node.make({"Broadcast", "opset3"}, std::array{node.operand(0), node.operand(1)},
            {{"mode", "bidirectional"}});
}

bool raise_tile(RaisedLayer& layer) {
  const Shape shape = layer.shape_of(layer.input(0));
  const Shape listed = layer.shape_of(layer.input(1));
  if (!shape.is_ranked() || !listed.is_static() || listed.rank() != 1) return false;
  constexpr std::int64_t most_dimensions = 64;
  const std::int64_t count = listed[0].value();
  if (count > most_dimensions) return false;
  Value data = layer.input(0);
  Value repeats = layer.wide(layer.input(1), "repeats");
  // With fewer repeats than axes, or more, the shorter list is filled up with ones.
  if (count > shape.rank()) {
    const Value axes = layer.list("axes", axes_from(0, count - shape.rank()));
    data = stepped(layer, ops::Unsqueeze::kind, {data, axes});
  } else if (count < shape.rank()) {
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(shape.rank() - count), 1);
    repeats = stepped(layer, ops::Concat::kind, {layer.list("ones", ones), repeats},
                      {{"axis", std::int64_t{0}}});
  }
  layer.make(ops::Tile::kind, {data, repeats});
  return true;
}

void lower_tile(LoweredNode& node) {
  if (node.operand_count() != 2) impossible("a single axis, as before opset 6");
  node.make({"Tile"}, std::array{node.operand(0), node.operand(1)});
}

// --- borders -------------------------------------------------------------------------------------

bool raise_pad(RaisedLayer& layer) {
  const std::string mode = layer.text("pad_mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect") return false;
  auto begins = layer.constant_integers(1);
  const auto ends = layer.constant_integers(2);
  std::vector<Value> operands{layer.input(0)};
  if (begins && ends) {
    begins->insert(begins->end(), ends->begin(), ends->end());
    operands.push_back(layer.list("pads", *begins));
  } else {
    const Value before = layer.wide(layer.input(1), "before");
    const Value behind = layer.wide(layer.input(2), "behind");
    operands.push_back(
        stepped(layer, ops::Concat::kind, {before, behind}, {{"axis", std::int64_t{0}}}));
  }
  if (layer.has_input(3) && mode == "constant") operands.push_back(layer.input(3));
  layer.make(ops::Pad::kind, std::move(operands), {{"mode", mode}});
  return true;
}

void lower_pad(LoweredNode& node) {
  const auto mode = node.attribute_or<std::string>("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect") {
    impossible(fmt::format("mode {}", printable(mode)));
  }
  const auto rank = node.ranked(0).rank();
  LayerChain chain(node);
  const bool is_known = !node.has(1) || node.known_list(1);
  const bool fills_numbers = mode == "constant" && known_number(node.node(), 2, "value", 0) != 0.0;
  std::vector<Output> inputs{fills_numbers ? real_operand(node, 0) : node.operand(0)};
  if (is_known) {
    const auto given = node.list(1, node.opset() < 2 ? "paddings" : "pads");
    const auto axes = node.list(3, "axes").value_or(axes_from(0, rank));
    if (!given || given->size() != 2 * axes.size()) invalid("pads of other axes");
    std::vector<std::int64_t> before(static_cast<std::size_t>(rank), 0);
    std::vector<std::int64_t> behind = before;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = normalize_axis(axes[i], rank);
      if (!axis) invalid("an axis outside of the operand");
      before[static_cast<std::size_t>(*axis)] = (*given)[i];
      behind[static_cast<std::size_t>(*axis)] = (*given)[axes.size() + i];
    }
    inputs.push_back(chain.integers(before));
    inputs.push_back(chain.integers(behind));
  } else {
    if (node.has(3)) impossible("pads that are computed, of some axes");
    inputs.push_back(chain.part(node.operand(1), 0, rank));
    inputs.push_back(chain.part(node.operand(1), rank, 2 * rank));
  }
  if (mode == "constant") {
    inputs.push_back(node.has(2) ? chain.scalar(2)
                                 : chain.number(node.attribute_or<double>("value", 0)));
  }
  node.make({"Pad", "opset12"}, inputs, {{"pad_mode", mode}});
}

// --- channels and pixels -------------------------------------------------------------------------

bool raise_pixels(RaisedLayer& layer) {
  const bool is_wider = layer.type() == "DepthToSpace";
  const std::string mode = layer.text("mode", "blocks_first");
  const Shape& shape = layer.shape_of(layer.input(0));
  const bool is_image = shape.is_ranked() && shape.rank() == 4;
  if (!is_image || (!is_wider && mode != "blocks_first")) return false;
  Attributes attributes{{"blocksize", layer.integer("block_size", 1)}};
  if (is_wider) attributes.set("mode", std::string(mode == "blocks_first" ? "DCR" : "CRD"));
  layer.make(is_wider ? ops::DepthToSpace::kind : ops::SpaceToDepth::kind, {layer.input(0)},
             std::move(attributes));
  return true;
}

void lower_pixels(LoweredNode& node) {
  const bool is_wider = node.node().kind() == ops::DepthToSpace::kind;
  const bool is_dcr = node.attribute_or<std::string>("mode", "DCR") == "DCR";
  node.make({is_wider ? "DepthToSpace" : "SpaceToDepth"}, std::array{node.operand(0)},
            {{"block_size", std::to_string(node.attribute_or<std::int64_t>("blocksize", 1))},
             {"mode", is_dcr ? "blocks_first" : "depth_first"}});
}

/// Channels in groups as a matrix, transposed.
bool raise_shuffle_channels(RaisedLayer& layer) {
  const Value x = layer.input(0);
  const Shape shape = layer.shape_of(x);
  const std::int64_t groups = layer.integer("group", 1);
  const auto axis = normalize_axis(layer.integer("axis", 1), shape.rank());
  if (!axis || groups < 1) return false;
  const std::int64_t channels = shape[*axis].value_or(0);
  const auto whole = ops::Reshape::request(shape);
  if (channels < 1 || channels % groups != 0 || !whole) return false;
  std::vector<std::int64_t> extents = *whole;
  extents[static_cast<std::size_t>(*axis)] /= groups;
  extents.insert(extents.begin() + *axis, groups);
  std::vector<std::int64_t> perm = axes_from(0, shape.rank() + 1);
  std::swap(perm[static_cast<std::size_t>(*axis)], perm[static_cast<std::size_t>(*axis) + 1]);
  const Value matrix = stepped(layer, ops::Reshape::kind, {x, layer.list("groups", extents)});
  const Value shuffled = stepped(layer, ops::Transpose::kind, {matrix}, {{"perm", perm}});
  layer.make(ops::Reshape::kind, {shuffled, layer.list("shape", *whole)});
  return true;
}

bool raise_reverse_sequence(RaisedLayer& layer) {
  const Value lengths = layer.wide(layer.input(1), "lengths");
  const std::int64_t rank = layer.shape_of(layer.input(0)).rank();
  const auto batch = normalize_axis(layer.integer("batch_axis", 0), rank);
  const auto time = normalize_axis(layer.integer("seq_axis", 1), rank);
  if (!batch || !time || *batch + *time != 1) return false;
  layer.make(ops::ReverseSequence::kind, {layer.input(0), lengths},
             {{"batch_axis", *batch}, {"time_axis", *time}});
  return true;
}

void lower_reverse_sequence(LoweredNode& node) {
  node.make({"ReverseSequence"}, std::array{node.operand(0), node.operand(1)},
            {{"batch_axis", std::to_string(node.attribute_or<std::int64_t>("batch_axis", 1))},
             {"seq_axis", std::to_string(node.attribute_or<std::int64_t>("time_axis", 0))}});
}

constexpr std::array raised_moves{
    RaiseRule{"Broadcast", raise_broadcast},
    RaiseRule{"Concat", raise_concat},
    RaiseRule{"DepthToSpace", raise_pixels},
    RaiseRule{"Pad", raise_pad},
    RaiseRule{"Reshape", raise_reshape},
    RaiseRule{"ReverseSequence", raise_reverse_sequence},
    RaiseRule{"ShuffleChannels", raise_shuffle_channels},
    RaiseRule{"SpaceToDepth", raise_pixels},
    RaiseRule{"Squeeze", raise_squeezing},
    RaiseRule{"Tile", raise_tile},
    RaiseRule{"Transpose", raise_transpose},
    RaiseRule{"Unsqueeze", raise_squeezing},
};

constexpr std::array lowered_moves{
    LowerRule{ops::Concat::kind, lower_concat},
    LowerRule{ops::Expand::kind, lower_expand},
    LowerRule{ops::Flatten::kind, lower_flatten},
    LowerRule{ops::Reshape::kind, lower_reshape},
    LowerRule{ops::Squeeze::kind, lower_squeezing},
    LowerRule{ops::Transpose::kind, lower_transpose},
    LowerRule{ops::Unsqueeze::kind, lower_squeezing},
    LowerRule{ops::DepthToSpace::kind, lower_pixels},
    LowerRule{ops::Pad::kind, lower_pad},
    LowerRule{ops::ReverseSequence::kind, lower_reverse_sequence},
    LowerRule{ops::SpaceToDepth::kind, lower_pixels},
    LowerRule{ops::Tile::kind, lower_tile},
};

}  // namespace

Rules moves_rules() noexcept { return {raised_moves, lowered_moves}; }

}  // namespace quadrant::inline v0::openvino_ir
