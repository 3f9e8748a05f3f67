// Poolings over windows. Those over whole images are reductions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "io/openvino/windows.hpp"
#include "ir/ops/windows.hpp"
#include "numerics/reals.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

constexpr std::string_view max_kind = ops::MaxPool::kind;
constexpr std::string_view average_kind = ops::AveragePool::kind;

/// Whether all ways to round up make as many windows: the last of them begins inside, or where pads
/// in front of the operand are.
bool rounds_up_alike(const Shape& shape, const std::vector<std::int64_t>& kernel,
                     const Attributes& windows) {
  using List = std::vector<std::int64_t>;
  const auto strides = windows.get_or<List>("strides", {});
  const auto dilations = windows.get_or<List>("dilations", {});
  const auto pads = windows.get_or<List>("pads", List(2 * kernel.size(), 0));
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    constexpr std::int64_t most = 1 << 30;
    for (const std::int64_t number : {kernel[i], strides[i], dilations[i]}) {
      if (number < 1 || number > most) return false;
    }
    const std::int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    const std::int64_t behind = pads[i + kernel.size()];
    if (behind < 0 || pads[i] < 0 || behind > most || pads[i] > most) return false;
    if (behind + strides[i] <= reach) continue;
    if (shape.rank() != static_cast<std::int64_t>(kernel.size()) + 2) return false;
    const auto extent = shape.extents()[i + 2].known();
    if (!extent) return false;
    const std::int64_t front = *extent + pads[i];
    const std::int64_t room = front + behind - reach;
    if (room < 0 || (room + strides[i] - 1) / strides[i] * strides[i] >= front) return false;
  }
  return true;
}

/// Where onnx's rules of shapes, which leave out no window that begins behind the operand, are
/// wrong about rounding up: pads behind instead. False where they are not, or pads would be as long
/// as a window.
bool pads_instead_of_rounding_up(const Shape& shape, std::span<const std::int64_t> kernel,
                                 Attributes& windows) {
  using List = std::vector<std::int64_t>;
  const auto strides = windows.get_or<List>("strides", {});
  const auto dilations = windows.get_or<List>("dilations", {});
  auto pads = windows.get_or<List>("pads", {});
  const std::size_t axes = kernel.size();
  if (!shape.is_static() || pads.size() != 2 * axes || shape.extents().size() != axes + 2) {
    return false;
  }
  bool are_wrong = false;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = saturating_add(saturating_multiply(kernel[i] - 1, dilations[i]), 1);
    const std::int64_t front = saturating_add(shape.known_extents()[i + 2], pads[i]);
    const std::int64_t room = saturating_add(front, pads[axes + i]) - reach;
    if (strides[i] < 1 || reach < 1 || room < 0) return false;
    std::int64_t steps = room / strides[i] + (room % strides[i] == 0 ? 0 : 1);
    const bool begins_behind = saturating_multiply(steps, strides[i]) >= front;
    // One that no rounding makes would be a pad less.
    if (begins_behind && room % strides[i] == 0) return false;
    if (begins_behind) steps -= 1;
    are_wrong |= begins_behind;
    const std::int64_t added = std::max<std::int64_t>(steps * strides[i] - room, 0);
    pads[axes + i] += added;
    if (added > 0 && pads[axes + i] >= kernel[i]) return false;
  }
  if (are_wrong) windows.set("pads", std::move(pads));
  return are_wrong;
}

bool raise_pooling(RaisedLayer& layer) {
  const bool is_max = layer.type() == "MaxPool";
  const auto kernel = layer.integers("kernel");
  if (kernel.empty()) invalid("a pooling without a kernel");
  const std::string rounding = layer.text("rounding_type", "floor");
  if (rounding != "floor" && rounding != "ceil" && rounding != "ceil_torch") {
    invalid(fmt::format("rounding_type=\"{}\"", printable(rounding)));
  }
  if (layer.layer().outputs.empty()) return false;
  Attributes attributes = raised_windows(layer, kernel.size(), true);
  // ONNX leaves out windows that begin behind the operand, as ceil_torch does, which also counts
  // pads as ONNX does where a window leaves the operand.
  const bool counts_pads = !is_max && !layer.flag("exclude-pad", true);
  const bool is_alike =
      !counts_pads && rounds_up_alike(layer.shape_of(layer.input(0)), kernel, attributes);
  if (rounding == "ceil" && !is_alike) return false;
  attributes.set("kernel_shape", kernel);
  const bool rounds_down =
      rounding == "floor" ||
      (!counts_pads &&
       pads_instead_of_rounding_up(layer.shape_of(layer.input(0)), kernel, attributes));
  attributes.set("ceil_mode", std::int64_t{rounds_down ? 0 : 1});
  if (!is_max) {
    const auto dilations = attributes.get_or<std::vector<std::int64_t>>("dilations", {});
    if (std::ranges::all_of(dilations, [](std::int64_t dilation) { return dilation == 1; })) {
      attributes.erase("dilations");
    }
    attributes.set("count_include_pad", std::int64_t{counts_pads ? 1 : 0});
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

/// An axis that windows slide along.
struct WindowAxis {
  std::optional<std::int64_t> extent;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;
  std::int64_t pad_end = 0;

  [[nodiscard]] std::int64_t reach() const noexcept {
    return saturating_add(saturating_multiply(kernel - 1, dilation), 1);
  }
};

std::vector<WindowAxis> window_axes(const LoweredNode& node,
                                    const std::vector<std::int64_t>& kernel,
                                    const std::vector<std::int64_t>& dilations) {
  const std::size_t count = kernel.size();
  const auto strides = list_of(node, "strides", count, 1);
  const auto pads = list_of(node, "pads", 2 * count, 0);
  const auto extents = node.type(0).shape.extents();
  std::vector<WindowAxis> axes;
  axes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    axes.push_back({.extent = i + 2 < extents.size() ? extents[i + 2].known() : std::nullopt,
                    .kernel = kernel[i],
                    .stride = strides[i],
                    .dilation = dilations[i],
                    .pad = pads[i],
                    .pad_end = pads[count + i]});
  }
  return axes;
}

/// Windows that are rounded up, along an axis.
struct RoundedUp {
  std::int64_t padded = 0;  ///< how long the operand and its pads are
  std::int64_t windows = 0;
  std::int64_t pad_end = 0;  ///< with which all windows are whole
};

/// None begins behind the operand.
RoundedUp round_up(const WindowAxis& axis, std::int64_t extent) {
  const std::int64_t front = saturating_add(extent, axis.pad);
  const std::int64_t room = saturating_add(front, axis.pad_end) - axis.reach();
  if (axis.stride < 1 || axis.reach() < 1 || room < 0) {
    invalid("windows beyond the operand and its pads");
  }
  const std::int64_t steps =
      std::min(room / axis.stride + (room % axis.stride == 0 ? 0 : 1), (front - 1) / axis.stride);
  const std::int64_t end = saturating_add(steps * axis.stride, axis.reach());
  return {room + axis.reach(), steps + 1, std::max<std::int64_t>(end - front, 0)};
}

/// Windows of an average that are as long as each other, none rounded up to.
struct WholeWindows {
  std::vector<std::int64_t> pads_end;
  std::vector<double> ratios;  ///< for each window: of its elements to those that ONNX counts
  std::vector<Extent> extents{1, 1};
};

/// How many elements of the operand and its pads a window covers along an axis, for each window:
/// one that was rounded up to may cover less than others.
std::vector<double> covered(const WindowAxis& axis, const RoundedUp& rounded) {
  std::vector<double> counts;
  for (std::int64_t begin = 0; std::ssize(counts) < rounded.windows; begin += axis.stride) {
    const std::int64_t fit = (rounded.padded - begin + axis.dilation - 1) / axis.dilation;
    counts.push_back(static_cast<double>(std::clamp<std::int64_t>(fit, 1, axis.kernel)));
  }
  return counts;
}

/// For averages that count pads, over windows that are rounded up: ONNX divides by the elements of
/// the operand and its pads in the window, OpenVINO (release 2026.4, on CPUs) by all of the window.
/// Empty where there are no pads, and both do the same.
std::optional<WholeWindows> whole_windows(const std::vector<WindowAxis>& axes) {
  if (std::ranges::all_of(
          axes, [](const WindowAxis& axis) { return axis.pad == 0 && axis.pad_end == 0; })) {
    return std::nullopt;
  }
  WholeWindows whole{.ratios = {1}};
  for (const WindowAxis& axis : axes) {
    if (!axis.extent) {
      impossible("averages that count pads, whose windows are rounded up, over open extents");
    }
    const RoundedUp rounded = round_up(axis, *axis.extent);
    constexpr std::int64_t most = std::int64_t{1} << 24;
    if (saturating_multiply(std::ssize(whole.ratios), rounded.windows - 1) >= most) {
      impossible(fmt::format("averages that count pads, over more than {} windows", most));
    }
    whole.pads_end.push_back(rounded.pad_end);
    std::vector<double> ratios;
    for (const double before : whole.ratios) {
      for (const double count : covered(axis, rounded)) {
        ratios.push_back(before * static_cast<double>(axis.kernel) / count);
      }
    }
    whole.ratios = std::move(ratios);
    whole.extents.emplace_back(rounded.windows);
  }
  return whole;
}

void set_pads_end(Data& data, const std::vector<std::int64_t>& pads) {
  std::ranges::find(data, "pads_end", &Data::value_type::first)->second = text_of(pads);
}

void lower_average(LoweredNode& node, const std::vector<std::int64_t>& kernel,
                   const std::vector<std::int64_t>& dilations, Data data, bool is_dilated) {
  const bool counts = node.attribute_or<std::int64_t>("count_include_pad", 0) != 0;
  bool ceils = node.attribute_or<std::int64_t>("ceil_mode", 0) != 0;
  const bool is_odd = counts && ceils && automatic_padding(data) == "explicit";
  const auto whole = is_odd ? whole_windows(window_axes(node, kernel, dilations)) : std::nullopt;
  if (whole) {
    set_pads_end(data, whole->pads_end);
    ceils = false;
  }
  data.emplace_back("rounding_type", ceils ? "ceil_torch" : "floor");
  data.emplace_back("exclude-pad", text_of(!counts));
  const std::string_view version = ceils ? "opset14" : "opset1";
  const OpName op{"AvgPool", is_dilated ? "opset16" : version};
  const Output image = counts ? real_operand(node, 0) : node.operand(0);
  if (!whole || std::ranges::all_of(whole->ratios, [](double ratio) { return ratio == 1; })) {
    node.make(op, std::array{image}, data);
    return;
  }
  LayerChain chain(node);
  const ElementType element = node.result_type().element;
  const ElementType wide = is_wide_float(element) ? element : ElementType::float32;
  const Output ratios =
      node.constant("ratios", rounded_constant(wide, Shape(whole->extents), whole->ratios));
  node.finish(chain.pair({"Multiply"}, chain.apply(op, {image}, data),
                         wide == element ? ratios : node.converted(ratios, element, "ratio")));
}

/// The pads behind the operand with which windows that are rounded up are whole.
std::vector<std::int64_t> pads_of_whole_windows(const std::vector<WindowAxis>& axes) {
  std::vector<std::int64_t> pads;
  pads.reserve(axes.size());
  for (const WindowAxis& axis : axes) {
    if (axis.extent) {
      pads.push_back(round_up(axis, *axis.extent).pad_end);
      continue;
    }
    // Of any extent, where no window can begin behind the operand: those that are rounded up are as
    // many as those of so much longer an axis that are rounded down.
    if (axis.stride < 1 || saturating_add(axis.pad_end, axis.stride) > axis.reach()) {
      impossible("norms of windows that are rounded up and may begin behind open extents");
    }
    pads.push_back(saturating_add(axis.pad_end, axis.stride - 1));
  }
  return pads;
}

/// The root of a sum of powers: their mean, over all of a window, times the window's size. Pads are
/// zeros, which change no sum. Windows that are rounded up get pads, for without any the mean would
/// be of what is inside.
void lower_norms(LoweredNode& node, const std::vector<std::int64_t>& kernel,
                 const std::vector<std::int64_t>& dilations, Data data, bool is_dilated) {
  const bool ceils = node.attribute_or<std::int64_t>("ceil_mode", 0) != 0;
  // Those of automatic pads are whole.
  if (ceils && automatic_padding(data) == "explicit") {
    set_pads_end(data, pads_of_whole_windows(window_axes(node, kernel, dilations)));
  }
  data.emplace_back("rounding_type", "floor");
  data.emplace_back("exclude-pad", "false");
  double size = 1;
  for (const std::int64_t extent : kernel) size *= static_cast<double>(extent);
  const auto p = node.attribute_or<std::int64_t>("p", 2);
  LayerChain chain(node);
  const Output powers = chain.power(real_operand(node, 0), p);
  const Output means = chain.apply({"AvgPool", is_dilated ? "opset16" : "opset1"}, {powers}, data);
  node.finish(chain.root(chain.pair({"Multiply"}, means, chain.number(size)), p));
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
  const std::string_view automatic = automatic_padding(data);
  if (automatic.starts_with("same")) {
    const auto strides = list_of(node, "strides", kernel.size(), 1);
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      if (strides[i] > kernel[i]) impossible("automatic pads, with strides beyond the kernel");
    }
    if (is_dilated) impossible("automatic pads, with dilations");
  }
  data.emplace_back("kernel", text_of(kernel));
  if (!is_max) {
    const bool is_average = node.node().kind() == average_kind;
    (is_average ? lower_average : lower_norms)(node, kernel, dilations, std::move(data),
                                               is_dilated);
    return;
  }
  const bool ceils = node.attribute_or<std::int64_t>("ceil_mode", 0) != 0;
  data.emplace_back("rounding_type", ceils ? "ceil_torch" : "floor");
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
    LowerRule{ops::LpPool::kind, lower_pooling},
};

}  // namespace

Rules pooling_rules() noexcept { return {raised_pooling, lowered_pooling}; }

}  // namespace quadrant::inline v0::openvino_ir
