// What orders elements: the largest ones, and boxes by their scores.
#include <array>
#include <limits>

#include "io/openvino/chain.hpp"
#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

bool raise_top_k(RaisedLayer& layer) {
  const std::string mode = layer.text("mode", "max");
  const std::string sort = layer.text("sort", "value");
  if ((mode != "max" && mode != "min") || (sort != "value" && sort != "none")) return false;
  const auto axis = layer.integer("axis");
  if (!axis) invalid("a TopK without an axis");
  std::ignore = layer.text("index_element_type");  // the port says it
  std::ignore = layer.text("stable");              // ONNX's always is
  const auto k = layer.constant_integers(1);
  const Value list =
      k ? layer.list("k", *k) : layer.reshaped(layer.wide(layer.input(1), "k"), Shape{1}, "k_list");
  const Attributes attributes{{"axis", *axis},
                              {"largest", std::int64_t{mode == "max" ? 1 : 0}},
                              {"sorted", std::int64_t{sort == "value" ? 1 : 0}}};
  if (layer.layer().outputs.size() != 2) invalid("a TopK of other than two outputs");
  make_with_indices(layer, ops::TopK::kind, {layer.input(0), list}, attributes);
  return true;
}

/// In the order that ONNX promises.
Data ranking_data(std::int64_t axis, bool is_largest) {
  return {{"axis", std::to_string(axis)},
          {"mode", is_largest ? "max" : "min"},
          {"sort", "value"},
          {"index_element_type", "i64"},
          {"stable", "true"}};
}

void lower_top_k(LoweredNode& node) {
  LayerChain chain(node);
  const bool was_attribute = node.node().graph->attribute(node.node().id, "k") != nullptr;
  const Output k =
      was_attribute ? chain.integer(node.attribute_or<std::int64_t>("k", 1)) : chain.scalar(1);
  const bool is_largest = node.attribute_or<std::int64_t>("largest", 1) != 0;
  node.make({"TopK", "opset11"}, std::array{node.operand(0), k},
            ranking_data(axis_of(node, -1), is_largest));
}

/// Indices of the largest or the least along an axis, which stays with extent 1.
Output extreme_indices(LoweredNode& node, LayerChain& chain, Output x, std::int64_t axis,
                       bool is_largest) {
  const std::array types{TensorType{node.type(0).element, Shape{}, nullptr},
                         TensorType{ElementType::int64, Shape{}, nullptr}};
  Output found = node.steps({"TopK", "opset11"}, std::array{x, chain.integer(1)},
                            ranking_data(axis, is_largest), types, "TopK");
  found.index = 1;
  return found;
}

void lower_arg_extreme(LoweredNode& node) {
  LayerChain chain(node);
  const std::int64_t axis = axis_of(node, 0);
  const bool is_last = node.attribute_or<std::int64_t>("select_last_index", 0) != 0;
  const bool is_largest = node.node().kind() == ops::ArgMax::kind;
  Output x = node.operand(0);
  if (is_last) {  // the first one from the end
    x = chain.apply(
        {"Slice", "opset8"},
        {x, chain.integers({-1}), chain.integers({std::numeric_limits<std::int32_t>::min()}),
         chain.integers({-1}), chain.integers({axis})});
  }
  Output indices = extreme_indices(node, chain, x, axis, is_largest);
  if (is_last) {
    const Output extent = chain.element_of(chain.extents(x), axis);
    const Output last = chain.pair({"Subtract"}, extent, chain.integer(1));
    indices = chain.pair({"Subtract"}, last, indices);
  }
  if (node.attribute_or<std::int64_t>("keepdims", 1) == 0) {
    node.make({"Squeeze"}, std::array{indices, chain.integers({axis})});
    return;
  }
  node.finish(indices);
}

/// 1 at the first largest element along the axis, else 0.
void lower_hardmax(LoweredNode& node) {
  LayerChain chain(node);
  const bool is_new = node.opset() >= 13;
  const std::int64_t axis = axis_of(node, is_new ? -1 : 1);
  if (!is_new && axis + 1 < node.ranked(0).rank()) {
    impossible("several axes, as before opset 13");
  }
  const Output x = node.operand(0);
  const Output indices = chain.apply(
      {"Squeeze"}, {extreme_indices(node, chain, x, axis, true), chain.integers({axis})});
  const Output depth = chain.element_of(chain.extents(x), axis);
  node.make({"OneHot"}, std::array{indices, depth, chain.number(1), chain.number(0)},
            {{"axis", std::to_string(axis)}});
}

/// OpenVINO gives scores and a count, too.
void lower_non_max_suppression(LoweredNode& node) {
  if (!is_float(node.type(0).element)) invalid("boxes that are not float");
  LayerChain chain(node);
  const auto number_or = [&](std::size_t operand, double fallback) {
    return node.has(operand) ? chain.scalar(operand) : chain.number(fallback);
  };
  const Output most = node.has(2) ? chain.scalar(2) : chain.integer(0);
  const bool is_center = node.attribute_or<std::int64_t>("center_point_box", 0) != 0;
  const std::array unused{TensorType{node.type(1).element, Shape{Extent::open(), 3}, nullptr},
                          TensorType{ElementType::int64, Shape{1}, nullptr}};
  constexpr double lowest = std::numeric_limits<float>::lowest();
  node.make(
      {"NonMaxSuppression", "opset9"},
      std::array{node.operand(0), node.operand(1), most, number_or(3, 0), number_or(4, lowest)},
      {{"box_encoding", is_center ? "center" : "corner"},
       {"sort_result_descending", "false"},
       {"output_type", "i64"}},
      unused);
}

constexpr std::array raised_ranking{RaiseRule{"TopK", raise_top_k}};

constexpr std::array lowered_ranking{
    LowerRule{ops::ArgMax::kind, lower_arg_extreme},
    LowerRule{ops::ArgMin::kind, lower_arg_extreme},
    LowerRule{ops::Hardmax::kind, lower_hardmax},
    LowerRule{ops::NonMaxSuppression::kind, lower_non_max_suppression},
    LowerRule{ops::TopK::kind, lower_top_k},
};

}  // namespace

Rules ranking_rules() noexcept { return {raised_ranking, lowered_ranking}; }

}  // namespace quadrant::inline v0::openvino_ir
