// Images of other extents, and pixels at given places.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/windows.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

struct Spelling {
  std::string_view openvino;
  std::string_view onnx;
};

/// The first of the two that has the name counts.
template <std::size_t size>
const Spelling* spelled(const std::array<Spelling, size>& table, std::string_view name,
                        std::string_view Spelling::* side) {
  const auto found = std::ranges::find(table, name, side);
  return found == table.end() ? nullptr : &*found;
}

constexpr std::array interpolations{Spelling{"nearest", "nearest"},
                                    Spelling{"linear_onnx", "linear"}, Spelling{"linear", "linear"},
                                    Spelling{"cubic", "cubic"}};
constexpr std::array coordinates{
    Spelling{"half_pixel", "half_pixel"}, Spelling{"pytorch_half_pixel", "pytorch_half_pixel"},
    Spelling{"asymmetric", "asymmetric"}, Spelling{"align_corners", "align_corners"}};
constexpr std::array roundings{Spelling{"round_prefer_floor", "round_prefer_floor"},
                               Spelling{"round_prefer_ceil", "round_prefer_ceil"},
                               Spelling{"floor", "floor"}, Spelling{"ceil", "ceil"}};
/// Of the time when ONNX still had it: opset 11 and 12.
constexpr Spelling half_pixel_for_nn{"tf_half_pixel_for_nn", "tf_half_pixel_for_nn"};

// --- Interpolate and Resize ----------------------------------------------------------------------

/// `values` at `axes`, and what stands for the other axes.
template <class T>
std::vector<T> over_all(const std::vector<std::int64_t>& axes, const std::vector<T>& values,
                        std::vector<T> others) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    others[static_cast<std::size_t>(axes[i])] = values[i];
  }
  return others;
}

/// The axes that are resized; empty where they are computed.
std::optional<std::vector<std::int64_t>> interpolated_axes(const RaisedLayer& layer,
                                                           std::size_t input, std::int64_t rank) {
  if (!layer.has_input(input)) return axes_from(0, rank);
  auto axes = layer.constant_integers(input);
  if (!axes) return std::nullopt;
  for (std::int64_t& axis : *axes) {
    const auto normal = normalize_axis(axis, rank);
    if (!normal) return std::nullopt;
    axis = *normal;
  }
  return axes;
}

/// Scales or sizes for all axes; empty where they are not known.
std::optional<Value> known_target(RaisedLayer& layer, std::size_t input, bool has_sizes,
                                  const std::vector<std::int64_t>& axes, const Shape& shape) {
  if (has_sizes) {
    const auto sizes = layer.constant_integers(input);
    if (!sizes || sizes->size() != axes.size() || !shape.is_static()) return std::nullopt;
    const auto extents = shape.known_extents();
    return layer.list("sizes",
                      over_all<std::int64_t>(axes, *sizes, {extents.begin(), extents.end()}));
  }
  const Constant known = layer.constant(input);
  if (!known || !is_float(known.element())) return std::nullopt;
  const std::vector<double> scales = value_of(read_reals(known));
  if (scales.size() != axes.size()) return std::nullopt;
  const auto rank = static_cast<std::size_t>(shape.rank());
  const auto all = over_all(axes, scales, std::vector<double>(rank, 1));
  return layer.constant("scales", rounded_constant(ElementType::float32, Shape{shape.rank()}, all));
}

bool raise_interpolate(RaisedLayer& layer) {
  const bool is_new = layer.layer().version == "opset11";
  if (!is_new && layer.layer().version != "opset4") return false;
  const auto* const mode = spelled(interpolations, layer.text("mode", ""), &Spelling::openvino);
  const auto* const coordinate = spelled(
      coordinates, layer.text("coordinate_transformation_mode", "half_pixel"), &Spelling::openvino);
  const auto* const rounding =
      spelled(roundings, layer.text("nearest_mode", "round_prefer_floor"), &Spelling::openvino);
  const Shape shape = layer.shape_of(layer.input(0));
  if (!mode || !coordinate || !shape.is_ranked() || layer.flag("antialias", false)) return false;
  if (!rounding && mode->onnx == "nearest") return false;
  for (const char* pads : {"pads_begin", "pads_end"}) {
    const auto values = layer.integers(pads);
    if (std::ranges::any_of(values, [](std::int64_t pad) { return pad != 0; })) return false;
  }
  const auto axes = interpolated_axes(layer, is_new ? 2 : 3, shape.rank());
  if (!axes) return false;
  const bool has_sizes = layer.text("shape_calculation_mode", "sizes") == "sizes";
  const std::size_t input = is_new || has_sizes ? 1 : 2;

  Attributes attributes{{"mode", std::string(mode->onnx)},
                        {"coordinate_transformation_mode", std::string(coordinate->onnx)}};
  if (mode->onnx == "nearest") attributes.set("nearest_mode", std::string(rounding->onnx));
  const double cube = layer.real("cube_coeff", -0.75);
  if (mode->onnx == "cubic") attributes.set("cubic_coeff_a", cube);
  auto target = known_target(layer, input, has_sizes, *axes, shape);
  if (!target) {
    target = has_sizes ? layer.wide(layer.input(input), "sizes") : layer.input(input);
    if (*axes != axes_from(0, shape.rank())) attributes.set("axes", *axes);
  }
  std::vector<Value> operands{layer.input(0), Value{}};
  if (has_sizes) operands.emplace_back();
  operands.push_back(*target);
  layer.make(ops::Resize::kind, std::move(operands), std::move(attributes));
  return true;
}

/// `impossible` for what OpenVINO has no attribute for.
void expect_plain_resize(const LoweredNode& node, std::string_view mode) {
  const auto is_set = [&](std::string_view name) {
    return node.attribute_or<std::int64_t>(name, 0) != 0;
  };
  if (is_set("antialias")) impossible("antialiasing");
  if (mode == "cubic" && is_set("exclude_outside")) impossible("pixels outside that do not count");
  const auto policy = node.attribute_or<std::string>("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") impossible("an aspect ratio that is kept");
}

Data interpolation_data(const LoweredNode& node, bool has_modes, bool has_sizes) {
  const auto mode = node.attribute_or<std::string>("mode", "nearest");
  expect_plain_resize(node, mode);
  const std::string coordinate =
      has_modes ? node.attribute_or<std::string>("coordinate_transformation_mode", "half_pixel")
                : "asymmetric";
  const std::string rounding =
      has_modes ? node.attribute_or<std::string>("nearest_mode", "round_prefer_floor") : "floor";
  const auto* const kind = spelled(interpolations, mode, &Spelling::onnx);
  const auto* place = spelled(coordinates, coordinate, &Spelling::onnx);
  if (coordinate == half_pixel_for_nn.onnx) place = &half_pixel_for_nn;
  const auto* const nearest = spelled(roundings, rounding, &Spelling::onnx);
  if (!kind) impossible(fmt::format("mode {}", printable(mode)));
  if (!place) impossible(fmt::format("coordinates of mode {}", printable(coordinate)));
  if (!nearest) impossible(fmt::format("nearest_mode {}", printable(rounding)));
  return {{"mode", std::string(kind->openvino)},
          {"shape_calculation_mode", has_sizes ? "sizes" : "scales"},
          {"coordinate_transformation_mode", std::string(place->openvino)},
          {"nearest_mode", std::string(nearest->openvino)},
          {"antialias", "false"},
          {"pads_begin", "0"},
          {"pads_end", "0"},
          {"cube_coeff", text_of(node.attribute_or<double>("cubic_coeff_a", -0.75))}};
}

/// What is asked of the axes: sizes or scales, as far as they are known.
std::optional<std::vector<double>> known_numbers(const LoweredNode& node, std::size_t operand,
                                                 bool has_sizes) {
  if (!has_sizes && !node.has(operand)) {
    return node.attribute_or<std::vector<double>>("scales", {});
  }
  if (has_sizes) {
    const auto sizes = node.known_list(operand);
    if (!sizes) return std::nullopt;
    return std::vector<double>(sizes->begin(), sizes->end());
  }
  const Constant* known = node.constant(operand);
  if (!known) return std::nullopt;
  return value_of(read_reals(*known));
}

void lower_resize(LoweredNode& node) {
  const bool has_modes = node.node().kind() == ops::Resize::kind && node.opset() >= 11;
  // An empty list of scales stood for none in opset 11.
  const bool has_sizes = has_modes && node.has(3);
  const std::size_t scales = has_modes ? 2 : 1;
  const std::size_t operand = has_sizes ? 3 : scales;
  const Shape shape = node.ranked(0);
  auto axes = node.list(node.operand_count(), "axes").value_or(axes_from(0, shape.rank()));
  Data data = interpolation_data(node, has_modes, has_sizes);
  LayerChain chain(node);
  const auto numbers = known_numbers(node, operand, has_sizes);
  if (!numbers) {
    node.make({"Interpolate", "opset11"},
              std::array{node.operand(0), node.operand(operand), chain.integers(axes)}, data);
    return;
  }
  if (numbers->size() != axes.size()) invalid("sizes of other axes");
  std::vector<std::int64_t> resized;
  std::vector<double> wanted;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = normalize_axis(axes[i], shape.rank());
    if (!axis) invalid("an axis outside of the operand");
    // An extent that is not known may be any.
    const auto same = has_sizes ? shape[*axis].known() : 1;
    if (same && (*numbers)[i] == static_cast<double>(*same)) continue;
    resized.push_back(*axis);
    wanted.push_back((*numbers)[i]);
  }
  if (resized.empty()) {
    node.alias(node.operand(0));
    return;
  }
  const auto count = static_cast<std::int64_t>(wanted.size());
  const std::vector<std::int64_t> sizes(wanted.begin(), wanted.end());
  const Output target =
      has_sizes
          ? chain.integers(sizes)
          : node.constant("scales", rounded_constant(ElementType::float32, Shape{count}, wanted));
  node.make({"Interpolate", "opset11"},
            std::array{node.operand(0), target, chain.integers(resized)}, data);
}

// --- GridSample ----------------------------------------------------------------------------------

constexpr std::array grid_modes{Spelling{"bilinear", "linear"}, Spelling{"bilinear", "bilinear"},
                                Spelling{"bicubic", "cubic"}, Spelling{"bicubic", "bicubic"},
                                Spelling{"nearest", "nearest"}};

bool raise_grid_sample(RaisedLayer& layer) {
  const auto* const mode = spelled(grid_modes, layer.text("mode", "bilinear"), &Spelling::openvino);
  if (!mode) return false;
  layer.make(ops::GridSample::kind, {layer.input(0), layer.input(1)},
             {{"mode", std::string(mode->onnx)},
              {"padding_mode", layer.text("padding_mode", "zeros")},
              {"align_corners", std::int64_t{layer.flag("align_corners", false) ? 1 : 0}}});
  return true;
}

void lower_grid_sample(LoweredNode& node) {
  const auto given = node.attribute_or<std::string>("mode", "linear");
  const auto* const mode = spelled(grid_modes, given, &Spelling::onnx);
  if (!mode) impossible(fmt::format("mode {}", printable(given)));
  if (node.ranked(0).rank() != 4) impossible("an operand that is no image");
  const bool aligns = node.attribute_or<std::int64_t>("align_corners", 0) != 0;
  node.make({"GridSample", "opset9"}, std::array{node.operand(0), node.operand(1)},
            {{"align_corners", text_of(aligns)},
             {"mode", std::string(mode->openvino)},
             {"padding_mode", node.attribute_or<std::string>("padding_mode", "zeros")}});
}

constexpr std::array raised_resampling{
    RaiseRule{"GridSample", raise_grid_sample},
    RaiseRule{"Interpolate", raise_interpolate},
};

constexpr std::array lowered_resampling{
    LowerRule{ops::GridSample::kind, lower_grid_sample},
    LowerRule{ops::Resize::kind, lower_resize},
    LowerRule{ops::Upsample::kind, lower_resize},
};

}  // namespace

Rules resampling_rules() noexcept { return {raised_resampling, lowered_resampling}; }

}  // namespace quadrant::inline v0::openvino_ir
