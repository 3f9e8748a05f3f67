// Poolings over windows. Those over whole images are reductions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "io/openvino/windows.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

constexpr std::string_view max_kind = "onnx.MaxPool";
constexpr std::string_view average_kind = "onnx.AveragePool";

bool raise_pooling(RaisedLayer& layer) {
  const bool is_max = layer.type() == "MaxPool";
  const auto kernel = layer.integers("kernel");
  if (kernel.empty()) invalid("a pooling without a kernel");
  const std::string rounding = layer.text("rounding_type", "floor");
  if (rounding != "floor" && rounding != "ceil" && rounding != "ceil_torch") {
    invalid(fmt::format("rounding_type=\"{}\"", printable(rounding)));
  }
  // ONNX leaves out windows that begin behind the operand, as ceil_torch does.
  if (rounding == "ceil" || layer.layer().outputs.empty()) return false;
  Attributes attributes = raised_windows(layer, kernel.size(), true);
  attributes.set("kernel_shape", kernel);
  attributes.set("ceil_mode", std::int64_t{rounding == "floor" ? 0 : 1});
  if (!is_max) {
    const auto dilations = attributes.get_or<std::vector<std::int64_t>>("dilations", {});
    if (std::ranges::all_of(dilations, [](std::int64_t dilation) { return dilation == 1; })) {
      attributes.erase("dilations");
    }
    attributes.set("count_include_pad", std::int64_t{layer.flag("exclude-pad", true) ? 0 : 1});
    layer.make(average_kind, {layer.input(0)}, std::move(attributes));
    return true;
  }
  std::ignore = layer.text("index_element_type");  // the port says it
  const std::int64_t first = layer.integer("axis", 0);
  const bool has_indices = layer.layer().outputs.size() > 1 && layer.is_read(1);
  if (has_indices) {
    if (first != 0) return false;  // ONNX counts through the whole operand
    make_with_indices(layer, max_kind, {layer.input(0)}, std::move(attributes));
  } else {
    layer.finish(layer.step(max_kind, {layer.input(0)}, layer.result_type(), "largest",
                            std::move(attributes)));
  }
  return true;
}

/// Poolings whose windows follow from the extents: those of whole images, and of equal parts.
bool raise_adaptive(RaisedLayer& layer) {
  const bool is_max = layer.type() == "AdaptiveMaxPool";
  const Shape shape = layer.shape_of(layer.input(0));
  const auto wanted = layer.constant_integers(1);
  if (!wanted || shape.rank() < 3 ||
      shape.rank() != static_cast<std::int64_t>(wanted->size()) + 2) {
    return false;
  }
  if (is_max && layer.is_read(1)) return false;
  std::vector<std::int64_t> window;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const auto extent = shape[static_cast<std::int64_t>(i) + 2].known();
    const std::int64_t to = (*wanted)[i];
    if (!extent || to < 1 || *extent % to != 0) return false;
    window.push_back(*extent / to);
  }
  std::ignore = layer.text("index_element_type");
  layer.finish(layer.step(is_max ? max_kind : average_kind, {layer.input(0)}, layer.result_type(),
                          "pooled", {{"kernel_shape", window}, {"strides", window}}));
  return true;
}

void lower_pooling(LoweredNode& node) {
  const bool is_max = node.node().kind() == max_kind;
  const auto kernel = node.attribute_or<std::vector<std::int64_t>>("kernel_shape", {});
  if (kernel.empty()) invalid("a pooling without a kernel_shape");
  const bool has_indices = node.node().graph->result_count(node.node().id) > 1;
  if (has_indices && node.attribute_or<std::int64_t>("storage_order", 0) != 0) {
    impossible("indices by columns");
  }
  const auto dilations = list_of(node, "dilations", kernel.size(), 1);
  const bool is_dilated =
      std::ranges::any_of(dilations, [](std::int64_t dilation) { return dilation != 1; });
  Data data = lowered_windows(node, kernel.size(), is_max || is_dilated);
  data.emplace_back("kernel", text_of(kernel));
  const bool ceils = node.attribute_or<std::int64_t>("ceil_mode", 0) != 0;
  data.emplace_back("rounding_type", ceils ? "ceil_torch" : "floor");
  if (!is_max) {
    const bool counts = node.attribute_or<std::int64_t>("count_include_pad", 0) != 0;
    data.emplace_back("exclude-pad", text_of(!counts));
    const std::string_view version = ceils ? "opset14" : "opset1";
    node.make({"AvgPool", is_dilated ? "opset16" : version}, std::array{node.operand(0)}, data);
    return;
  }
  // The version of a time that knew no dilations is what most readers fuse best.
  if (!is_dilated && !ceils && !has_indices) {
    std::erase_if(data, [](const auto& entry) { return entry.first == "dilations"; });
    node.make({"MaxPool"}, std::array{node.operand(0)}, data);
    return;
  }
  data.emplace_back("index_element_type", "i64");
  data.emplace_back("axis", "0");
  const TensorType indices{ElementType::int64, node.result_type().shape, nullptr};
  node.make({"MaxPool", ceils ? "opset14" : "opset8"}, std::array{node.operand(0)}, data,
            std::span(&indices, has_indices ? 0U : 1U));
}

constexpr std::array raised_pooling{
    RaiseRule{"AdaptiveAvgPool", raise_adaptive},
    RaiseRule{"AdaptiveMaxPool", raise_adaptive},
    RaiseRule{"AvgPool", raise_pooling},
    RaiseRule{"MaxPool", raise_pooling},
};

constexpr std::array lowered_pooling{
    LowerRule{max_kind, lower_pooling},
    LowerRule{average_kind, lower_pooling},
};

}  // namespace

Rules pooling_rules() noexcept { return {raised_pooling, lowered_pooling}; }

}  // namespace quadrant::inline v0::openvino_ir
