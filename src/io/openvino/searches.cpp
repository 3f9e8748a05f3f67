// Lookups and searches: places in sorted lists, sums of rows, boxes of images, what occurs once.
#include <algorithm>

#include "io/openvino/chain.hpp"
#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

Value with_axis(RaisedLayer& layer, Value value, std::int64_t axis) {
  return stepped(layer, ops::Unsqueeze::kind, {value, layer.list("axis", std::array{axis})});
}

// --- sorted lists --------------------------------------------------------------------------------

/// How many of `limits`, along the last axis, are less than `values`, or as much.
void make_count_below(RaisedLayer& layer, Value limits, Value values, bool counts_equal) {
  const std::int64_t number = element_type_number(layer.result_type().element);
  const Value is_below = stepped(layer, counts_equal ? ops::LessOrEqual::kind : ops::Less::kind,
                                 {limits, values}, {}, ElementType::boolean);
  const Value ones =
      stepped(layer, ops::Cast::kind, {is_below}, {{"to", number}}, layer.result_type().element);
  layer.make(ops::ReduceSum::kind, {ones, layer.list("last", std::array{std::int64_t{-1}})},
             {{"keepdims", std::int64_t{0}}});
}

bool have_one_type(const RaisedLayer& layer) {
  return layer.type_of(layer.input(0)).element == layer.type_of(layer.input(1)).element;
}

bool raise_bucketize(RaisedLayer& layer) {
  std::ignore = layer.text("output_type");  // the port says it
  const bool is_right = layer.flag("with_right_bound", true);
  if (!have_one_type(layer)) return false;
  make_count_below(layer, layer.input(1), with_axis(layer, layer.input(0), -1), !is_right);
  return true;
}

bool raise_search_sorted(RaisedLayer& layer) {
  std::ignore = layer.text("output_type");
  const bool is_right = layer.flag("right_mode", false);
  const Shape& list = layer.shape_of(layer.input(0));
  if (!have_one_type(layer) || !list.is_ranked()) return false;
  const Value limits = list.rank() == 1 ? layer.input(0) : with_axis(layer, layer.input(0), -2);
  make_count_below(layer, limits, with_axis(layer, layer.input(1), -1), is_right);
  return true;
}

// --- rows of a table -----------------------------------------------------------------------------

/// Rows of bags of one size, with a weight each or not.
bool raise_embedding_bag(RaisedLayer& layer) {
  if (layer.text("reduction", "sum") != "sum") return false;
  Value rows = stepped(layer, ops::Gather::kind, {layer.input(0), layer.input(1)},
                       {{"axis", std::int64_t{0}}});
  const std::int64_t rank = layer.shape_of(layer.input(0)).rank();
  if (layer.has_input(2)) {
    if (rank < 1) return false;
    std::vector<std::int64_t> behind = axes_from(2, rank + 1);
    const Value weights =
        stepped(layer, ops::Unsqueeze::kind, {layer.input(2), layer.list("behind", behind)});
    rows = stepped(layer, ops::Multiply::kind, {rows, weights});
  }
  layer.make(ops::ReduceSum::kind, {rows, layer.list("bag", std::array{std::int64_t{1}})},
             {{"keepdims", std::int64_t{0}}});
  return true;
}

// --- what occurs, and where ----------------------------------------------------------------------

/// Values, and int64 lists: where they are first, which one each is, how often they occur.
bool raise_unique(RaisedLayer& layer) {
  std::ignore = layer.text("index_element_type");  // the ports say it
  std::ignore = layer.text("count_element_type");
  if (!layer.flag("sorted", true)) return false;  // the order is another one
  Attributes attributes{{"sorted", std::int64_t{1}}};
  if (layer.has_input(1)) {
    const auto axis = constant_axis(layer, 1);
    if (!axis) return false;
    attributes.set("axis", *axis);
  }
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < layer.layer().outputs.size(); ++i) {
    types.push_back(layer.result_type(i));
    if (i > 0) types.back().element = ElementType::int64;
  }
  const NodeId node = layer.steps(ops::Unique::kind, {layer.input(0)}, types, "found", attributes);
  for (auto i = static_cast<std::uint32_t>(types.size()); i-- > 0;) {
    const TensorType wanted = layer.result_type(i);
    const bool is_same = wanted.element == types[i].element;
    layer.finish(is_same ? Value{node, i}
                         : layer.step(ops::Cast::kind, {{node, i}}, wanted, "indices",
                                      {{"to", element_type_number(wanted.element)}}),
                 i);
  }
  return true;
}

void lower_unique(LoweredNode& node) {
  std::vector<Output> inputs{node.operand(0)};
  if (node.node().graph->attribute(node.node().id, "axis") != nullptr) {
    inputs.push_back(node.integer("axis", node.attribute_or<std::int64_t>("axis", 0)));
  }
  if (node.attribute_or<std::int64_t>("sorted", 1) == 0) impossible("values that are not sorted");
  const std::uint32_t made = node.node().graph->result_count(node.node().id);
  const std::vector<TensorType> unused(made < 4 ? 4 - made : 0,
                                       {ElementType::int64, Shape{Extent::open()}, nullptr});
  node.make({"Unique", "opset10"}, inputs,
            {{"sorted", "true"}, {"index_element_type", "i64"}, {"count_element_type", "i64"}},
            unused);
}

/// Only indices of boxes, class by class, are what ONNX gives, too.
bool raise_non_max_suppression(RaisedLayer& layer) {
  const bool is_plain = layer.layer().version == "opset9" &&
                        layer.text("output_type", "i64") == "i64" &&
                        !layer.flag("sort_result_descending", true);
  const bool is_soft = layer.has_input(5) && layer.constant_number(5) != 0.0;
  if (!is_plain || layer.is_read(1) || layer.is_read(2) || is_soft) return false;
  const bool is_center = layer.text("box_encoding", "corner") == "center";
  std::vector<Value> operands{layer.input(0), layer.input(1)};
  for (std::size_t i = 2; i < std::min<std::size_t>(layer.input_count(), 5); ++i) {
    const Value list = layer.reshaped(layer.input(i), Shape{1}, "number");
    operands.push_back(i == 2 ? layer.wide(list, "most") : list);
  }
  layer.finish(layer.step(ops::NonMaxSuppression::kind, std::move(operands), layer.result_type(),
                          "boxes", {{"center_point_box", std::int64_t{is_center ? 1 : 0}}}));
  return true;
}

// --- boxes of images -----------------------------------------------------------------------------

/// Of the largest, runtimes take pixels or what they weigh: means alone are the same in all.
bool raise_roi_align(RaisedLayer& layer) {
  const std::string aligned = layer.text("aligned_mode", "asymmetric");
  const std::string mode = layer.text("mode", "avg");
  if (mode != "avg" || (aligned != "asymmetric" && aligned != "half_pixel_for_nn")) return false;
  layer.make(ops::RoiAlign::kind,
             {layer.input(0), layer.input(1), layer.wide(layer.input(2), "images")},
             {{"mode", mode},
              {"output_height", layer.integer("pooled_h", 1)},
              {"output_width", layer.integer("pooled_w", 1)},
              {"sampling_ratio", layer.integer("sampling_ratio", 0)},
              {"spatial_scale", layer.real("spatial_scale", 1)},
              {"coordinate_transformation_mode",
               std::string(aligned == "asymmetric" ? "output_half_pixel" : "half_pixel")}});
  return true;
}

void lower_roi_align(LoweredNode& node) {
  const bool is_old = node.opset() < 16;
  const auto coordinates = node.attribute_or<std::string>(
      "coordinate_transformation_mode", is_old ? "output_half_pixel" : "half_pixel");
  const auto number = [&](std::string_view name, std::int64_t fallback) {
    return std::to_string(node.attribute_or<std::int64_t>(name, fallback));
  };
  if (node.attribute_or<std::string>("mode", "avg") != "avg") impossible("the largest of pixels");
  node.make({"ROIAlign", "opset9"}, all_operands(node),
            {{"pooled_h", number("output_height", 1)},
             {"pooled_w", number("output_width", 1)},
             {"sampling_ratio", number("sampling_ratio", 0)},
             {"spatial_scale", text_of(node.attribute_or<double>("spatial_scale", 1))},
             {"mode", "avg"},
             {"aligned_mode", coordinates == "half_pixel" ? "half_pixel_for_nn" : "asymmetric"}});
}

// --- columns of images ---------------------------------------------------------------------------

bool raise_columns(RaisedLayer& layer) {
  const auto begins = layer.integers("pads_begin");
  auto pads = begins.empty() ? std::vector<std::int64_t>{0, 0} : begins;
  const auto ends = layer.integers("pads_end");
  if (ends.empty()) {
    pads.insert(pads.end(), {0, 0});
  } else {
    pads.insert(pads.end(), ends.begin(), ends.end());
  }
  Attributes attributes{{"pads", pads}};
  for (const char* name : {"strides", "dilations"}) {
    if (auto list = layer.integers(name); !list.empty()) attributes.set(name, std::move(list));
  }
  layer.make(
      ops::Col2Im::kind,
      {layer.input(0), layer.wide(layer.input(1), "image"), layer.wide(layer.input(2), "block")},
      std::move(attributes));
  return true;
}

void lower_columns(LoweredNode& node) {
  const auto list = [&](std::string_view name, std::size_t size, std::int64_t fallback) {
    auto values = node.attribute_or<std::vector<std::int64_t>>(name, {});
    if (values.empty()) values.assign(size, fallback);
    if (values.size() != size) impossible("images of other than two axes");
    return values;
  };
  const auto pads = list("pads", 4, 0);
  node.make({"Col2Im", "opset15"}, all_operands(node),
            {{"strides", text_of(list("strides", 2, 1))},
             {"dilations", text_of(list("dilations", 2, 1))},
             {"pads_begin", text_of(std::span(pads).first(2))},
             {"pads_end", text_of(std::span(pads).last(2))}});
}

// --- a unit matrix -------------------------------------------------------------------------------

bool raise_eye(RaisedLayer& layer) {
  const auto diagonal = constant_axis(layer, 2);
  const std::int64_t number = element_type_number(layer.result_type().element);
  std::ignore = layer.text("output_type");  // the port says it
  if (!diagonal || layer.has_input(3) || number == 0) return false;
  const auto extent = [&](std::size_t input) {
    return layer.reshaped(layer.wide(layer.input(input), "extent"), Shape{1}, "extent_list");
  };
  const Value shape =
      stepped(layer, ops::Concat::kind, {extent(0), extent(1)}, {{"axis", std::int64_t{0}}});
  const Value zeros = stepped(layer, ops::ConstantOfShape::kind, {shape}, {}, ElementType::float32);
  layer.make(ops::EyeLike::kind, {zeros}, {{"k", *diagonal}, {"dtype", number}});
  return true;
}

constexpr std::array raised_searches{
    RaiseRule{"Bucketize", raise_bucketize},
    RaiseRule{"Col2Im", raise_columns},
    RaiseRule{"EmbeddingBagPacked", raise_embedding_bag},
    RaiseRule{"EmbeddingBagPackedSum", raise_embedding_bag},
    RaiseRule{"Eye", raise_eye},
    RaiseRule{"NonMaxSuppression", raise_non_max_suppression},
    RaiseRule{"ROIAlign", raise_roi_align},
    RaiseRule{"SearchSorted", raise_search_sorted},
    RaiseRule{"Unique", raise_unique},
};

constexpr std::array lowered_searches{
    LowerRule{ops::Col2Im::kind, lower_columns},
    LowerRule{ops::RoiAlign::kind, lower_roi_align},
    LowerRule{ops::Unique::kind, lower_unique},
};

}  // namespace

Rules searches_rules() noexcept { return {raised_searches, lowered_searches}; }

}  // namespace quadrant::inline v0::openvino_ir
