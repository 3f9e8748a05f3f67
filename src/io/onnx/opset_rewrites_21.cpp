// The operators that changed between opset 13 and 21.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "io/onnx/edit.hpp"
#include "io/onnx/opset_rules.hpp"
#include "io/onnx/replacement.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {

/// The part of a window beyond the padding counted as padding until opset 18; since then, it does
/// not count (ONNX Runtime; what opset 18 meant was not written down).
void convert_average_pool(Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  if (ref.attribute_or<std::int64_t>("count_include_pad", 0) == 0) return;
  const bool beyond = ref.attribute_or<std::int64_t>("ceil_mode", 0) != 0 ||
                      ref.attribute_or<std::string>("auto_pad", {}).starts_with("SAME");
  if (beyond) impossible("how it counts padding at the end changed");
}

/// Training became an attribute; until opset 13 it was that statistics are results.
void convert_statistics(Graph& graph, NodeId node) {
  if (graph.result_count(node) == 1) return;
  const auto is_statistic = [](const Use& use) { return use.result > 0; };
  if (std::ranges::any_of(graph.uses(node), is_statistic)) {
    impossible("its statistics are used, which only training has since opset 14");
  }
  Replacement made(graph, node);
  made.set_result_count(1);
  made.finish();
}

void convert_dft(Graph& graph, NodeId node) {
  Replacement made(graph, node);
  const std::int64_t axis = made.take<std::int64_t>("axis").value_or(1);
  made.set_operand(2, "axis", int64_scalar(axis));
  made.finish();
}

void convert_grid_sample(Graph& graph, NodeId node) {
  constexpr std::array renamed{std::pair<std::string_view, std::string_view>{"bilinear", "linear"},
                               std::pair<std::string_view, std::string_view>{"bicubic", "cubic"}};
  const auto mode = graph.ref(node).attribute_or<std::string>("mode", {});
  for (const auto& [before, after] : renamed) {
    if (mode == before) graph.set_attribute(node, "mode", std::string(after));
  }
}

/// Scale and bias of each group became those of each channel.
void convert_group_normalization(Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  const TensorType* input = ref.operand_type(0);
  const Extent extent = input && input->shape.rank() >= 2 ? input->shape[1] : Extent::open();
  const auto groups = ref.attribute_or<std::int64_t>("num_groups", 0);
  if (!extent.is_known()) impossible("how many channels it has is not known");
  const std::int64_t channels = extent.value();
  if (groups < 1 || channels % groups != 0) {
    impossible(fmt::format("it has {} channels in {} groups", channels, groups));
  }
  const std::string name(graph.value_name({node}));
  const auto add = [&](std::string_view kind, Value value, std::string_view role,
                       std::vector<std::int64_t> extents) {
    const std::string label = fmt::format("{}_{}", name, role);
    const Value shape = graph.add_constant(label + "_shape", int64_constant(extents));
    TensorType type{graph.type(value).element, Shape(extents), nullptr};
    return add_op(graph, std::string(kind), {}, {value, shape}, {label, std::move(type)});
  };
  Replacement made(graph, node);
  for (const auto& [index, role] : {std::pair{1U, "scale"}, std::pair{2U, "bias"}}) {
    Value value = ref.operand(index);
    if (value.is_absent()) impossible(fmt::format("it has no {}", role));
    value = add(ops::Reshape::kind, value, role, {groups, 1});
    value = add("onnx.Expand", value, role, {groups, channels / groups});
    made.set_operand(index, add(ops::Reshape::kind, value, role, {channels}));
  }
  made.finish();
}

/// Empty scales beside sizes were still accepted; an empty region of interest still is.
void convert_resize_operands(Graph& graph, NodeId node) {
  const Constant* scales = graph.ref(node).operand_constant(2);
  if (!graph.ref(node).operand(3).is_absent() && scales != nullptr &&
      scales->element_count() == 0) {
    graph.set_operand(node, 2, {});
  }
}

/// The default changed; the old one has a name since.
void convert_roi_align(Graph& graph, NodeId node) {
  constexpr std::string_view mode = "coordinate_transformation_mode";
  if (graph.attribute(node, mode) == nullptr) {
    graph.set_attribute(node, std::string(mode), std::string("output_half_pixel"));
  }
}

/// Parts are of one size when nothing is said of sizes: that must be said now.
void convert_split_count(Graph& graph, NodeId node) {
  if (!graph.ref(node).operand(1).is_absent()) return;
  graph.set_attribute(node, "num_outputs", std::int64_t{graph.result_count(node)});
}

}  // namespace quadrant::inline v0::onnx
