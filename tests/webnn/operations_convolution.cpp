// What slides a window over images, resamples them, and products of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

/// How a filter's axes become those that the IR has.
struct FilterLayout {
  std::string_view name;
  std::array<std::int64_t, 4> permutation;
};

constexpr std::array conv_filters{
    // to out, in, height, width
    FilterLayout{"oihw", {0, 1, 2, 3}},
    FilterLayout{"hwio", {3, 2, 0, 1}},
    FilterLayout{"ohwi", {0, 3, 1, 2}},
    FilterLayout{"ihwo", {3, 0, 1, 2}},
};

constexpr std::array transposed_filters{
    // to in, out, height, width
    FilterLayout{"iohw", {0, 1, 2, 3}},
    FilterLayout{"hwoi", {3, 2, 0, 1}},
    FilterLayout{"ohwi", {3, 0, 1, 2}},
};

Expected<Value> filter_of(Operation& operation, std::span<const FilterLayout> layouts) {
  const std::string name = operation.options.text("filterLayout", layouts.front().name);
  const Value filter = operation.input(1);
  if (operation.graph.rank(filter) != 4) return refuse("a filter that has not 4 axes");
  for (const FilterLayout& layout : layouts) {
    if (layout.name != name) continue;
    return operation.graph.transpose(filter,
                                     {layout.permutation.begin(), layout.permutation.end()});
  }
  return refuse(fmt::format("no layout of a filter: '{}'", name));
}

/// Where the window of a convolution or a pool stops.
struct Window {
  Integers padding;  ///< WebNN's order: height's two ends, then width's
  Integers strides;
  Integers dilations;

  [[nodiscard]] Attributes attributes() const {
    return {{"pads", Integers{padding[0], padding[2], padding[1], padding[3]}},
            {"strides", strides},
            {"dilations", dilations}};
  }
  /// How far `taps` reach along a spatial axis.
  [[nodiscard]] std::int64_t span(std::size_t axis, std::int64_t taps) const {
    return (taps - 1) * dilations[axis] + 1;
  }
  [[nodiscard]] std::int64_t padded(std::size_t axis) const {
    return padding[2 * axis] + padding[2 * axis + 1];
  }
};

Window window_options(Operation& operation) {
  return {.padding = operation.options.counts("padding", 4, 0),
          .strides = operation.options.counts("strides", 2, 1),
          .dilations = operation.options.counts("dilations", 2, 1)};
}

/// `transposed`: the results are larger than the image, and may be larger still.
Expected<void> set_output_padding(Operation& operation, const Window& window, Value image,
                                  Value filter, Attributes& attributes) {
  Integers padding = operation.options.counts("outputPadding", 2, 0);
  if (operation.options.has("outputSizes")) {
    const Integers sizes = operation.options.counts("outputSizes", 2, 0);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto axis = static_cast<std::int64_t>(i) + 2;
      const std::int64_t least =
          (operation.graph.shape(image)[axis].value() - 1) * window.strides[i] +
          window.span(i, operation.graph.shape(filter)[axis].value()) - window.padded(i);
      padding[i] = sizes[i] - least;
      if (padding[i] < 0 || padding[i] >= std::max<std::int64_t>(window.strides[i], 1)) {
        return refuse(fmt::format("an output size of {}, where {} is the least", sizes[i], least));
      }
    }
  }
  attributes.set("output_padding", padding);
  return {};
}

template <bool transposed>
Result convolve(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  const Window window = window_options(operation);
  const Images images = layout_option(operation, "inputLayout");
  Attributes attributes = window.attributes();
  attributes.set("group", operation.options.integer("groups", 1));
  QUADRANT_CHECK(operation.options.status());
  const std::span<const FilterLayout> layouts =
      transposed ? std::span<const FilterLayout>(transposed_filters) : conv_filters;
  QUADRANT_TRY(const Value image, images.to_nchw(graph, operation.input(0)));
  QUADRANT_TRY(const Value filter, filter_of(operation, layouts));
  if constexpr (transposed) {
    QUADRANT_CHECK(set_output_padding(operation, window, image, filter, attributes));
  }
  std::vector<Value> operands{image, filter};
  if (operation.has(2)) operands.push_back(operation.input(2));
  QUADRANT_TRY(const Value result, graph.add(kind, std::move(operands), std::move(attributes)));
  return only(images.from_nchw(graph, result));
}

/// Whether results are counted up: said, or what makes the sizes that are.
Expected<bool> rounds_up(Operation& operation, const Window& window, const Integers& taps,
                         Value image) {
  const char* key = operation.options.has("roundingType") ? "roundingType" : "outputShapeRounding";
  const std::string rounding = operation.options.text(key, "floor");
  if (rounding != "floor" && rounding != "ceil") return refuse("a rounding that is none");
  if (!operation.options.has("outputSizes")) return rounding == "ceil";
  const Integers sizes = operation.options.counts("outputSizes", 2, 1);
  for (const bool up : {false, true}) {
    bool fits = true;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t room =
          operation.graph.shape(image)[static_cast<std::int64_t>(i) + 2].value() +
          window.padded(i) - window.span(i, taps[i]);
      const std::int64_t stride = std::max<std::int64_t>(window.strides[i], 1);
      fits = fits && sizes[i] == (room + (up ? stride - 1 : 0)) / stride + 1;
    }
    if (fits) return up;
  }
  return refuse("output sizes that no rounding makes");
}

/// Padding as TFLite's SAME makes it, which holds nothing.
bool is_same_padding(const Window& window, const Integers& taps, const Shape& image) {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t extent = image.known_extents()[i + 2];
    const std::int64_t stride = std::max<std::int64_t>(window.strides[i], 1);
    const std::int64_t positions = (extent + stride - 1) / stride;
    const std::int64_t total =
        std::max<std::int64_t>((positions - 1) * stride + window.span(i, taps[i]) - extent, 0);
    if (window.padding[2 * i] != total / 2 || window.padded(i) != total) return false;
  }
  return true;
}

/// The specification does not say what a largest element's padding holds. Browsers that make TFLite
/// have nothing in the padding that is SAME, and zeros, which may be larger than the image, in
/// other padding; their results are what cases are measured against.
Expected<Value> pad_with_zeros(Operation& operation, Window& window, const Integers& taps,
                               Value image) {
  GraphBuilder& graph = operation.graph;
  const Integers& padding = window.padding;
  const bool is_none = std::ranges::count(padding, 0) == 4;
  if (is_none || is_same_padding(window, taps, graph.shape(image))) return image;
  const Integers pads{0, 0, padding[0], padding[2], 0, 0, padding[1], padding[3]};
  window.padding.assign(4, 0);
  return graph.add("onnx.Pad", {image, graph.integers(pads)});
}

template <bool zeros_count>
Result pool(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  Window window = window_options(operation);
  const Images images = layout_option(operation, "layout");
  QUADRANT_TRY(Value image, images.to_nchw(graph, operation.input(0)));
  Integers taps{graph.shape(image)[2].value(), graph.shape(image)[3].value()};
  if (operation.options.has("windowDimensions")) {
    taps = operation.options.counts("windowDimensions", 2, 1);
  }
  QUADRANT_CHECK(operation.options.status());
  QUADRANT_TRY(const bool up, rounds_up(operation, window, taps, image));
  if constexpr (zeros_count) {
    QUADRANT_TRY(image, pad_with_zeros(operation, window, taps, image));
  }
  Attributes attributes =
      window.attributes();  // padding is not counted by an average, ONNX's default
  attributes.set("kernel_shape", taps);
  attributes.set("ceil_mode", flag(up));
  QUADRANT_TRY(const Value result, graph.add(kind, {image}, std::move(attributes)));
  return only(images.from_nchw(graph, result));
}

Result resample(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  const Value image = operation.input(0);
  const std::int64_t rank = graph.rank(image);
  if (rank != 4) return refuse("an image that has not 4 axes");
  const Integers axes = axes_option(operation, "axes", rank, {2, 3});
  const std::string mode = operation.options.text("mode", "nearest-neighbor");
  const std::vector<double> scales = operation.options.reals("scales", {1, 1});
  Integers sizes = operation.options.counts("sizes", 2, 0);
  const bool sized = operation.options.has("sizes");
  QUADRANT_CHECK(operation.options.status());
  if (mode != "nearest-neighbor" && mode != "linear") {
    return refuse(fmt::format("no mode: '{}'", mode));
  }
  if (axes.size() != 2 || scales.size() != 2) return refuse("not two axes");
  const auto extents = graph.shape(image).known_extents();
  Integers result(extents.begin(), extents.end());
  for (std::size_t i = 0; i < 2; ++i) {
    auto& extent = result[static_cast<std::size_t>(axes[i])];
    constexpr double most = 0x1p31;
    const double scaled = std::floor(static_cast<double>(extent) * scales[i]);
    const bool fits = scaled >= 1 && scaled < most;  // not where it is no number
    if (!sized && !fits) return refuse("a scale that leaves nothing, or too much");
    extent = sized ? sizes[i] : static_cast<std::int64_t>(scaled);
  }
  // Pixels lie at their centres; of two that are as near, the one in front is taken.
  return only(graph.add(kind, {image, {}, {}, graph.integers(std::move(result))},
                        {{"mode", std::string(mode == "linear" ? "linear" : "nearest")},
                         {"coordinate_transformation_mode", std::string("half_pixel")},
                         {"nearest_mode", std::string("round_prefer_floor")}}));
}

Result gemm(Operation& operation, std::string_view kind) {
  Options& options = operation.options;
  return only(operation.graph.add(kind, operation.inputs,
                                  {{"alpha", options.real("alpha", 1)},
                                   {"beta", options.real("beta", 1)},
                                   {"transA", flag(options.boolean("aTranspose", false))},
                                   {"transB", flag(options.boolean("bTranspose", false))}}));
}

Result matmul(Operation& operation, std::string_view kind) {
  return only(operation.graph.add(kind, operation.inputs));
}

constexpr std::array convolution_table{
    OperationEntry{"conv2d", convolve<false>, ops::Conv::kind, 2, 3},
    OperationEntry{"convTranspose2d", convolve<true>, ops::ConvTranspose::kind, 2, 3},
    OperationEntry{"averagePool2d", pool<false>, "onnx.AveragePool"},
    OperationEntry{"l2Pool2d", pool<false>, "onnx.LpPool"},  // of the power 2, ONNX's default
    OperationEntry{"maxPool2d", pool<true>, "onnx.MaxPool"},
    OperationEntry{"resample2d", resample, "onnx.Resize"},
    OperationEntry{"gemm", gemm, ops::Gemm::kind, 2, 3},
    OperationEntry{"matmul", matmul, ops::MatMul::kind, 2, 2},
};

}  // namespace

std::span<const OperationEntry> convolution_operations() noexcept { return convolution_table; }

}  // namespace quadrant::webnn
