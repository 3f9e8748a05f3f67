// Maxima and means of windows that slide over images [N, C, spatial...].
#include <algorithm>
#include <array>
#include <numeric>

#include "io/mlir/failure.hpp"
#include "io/mlir/reductions.hpp"
#include "io/mlir/rules.hpp"
#include "io/mlir/text.hpp"
#include "io/mlir/windows.hpp"
#include "ir/ops/windows.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

/// Loops: n, c, pixels, window. The operand that says how large the window is holds nothing.
Term pooled(LoweredNode& node, const Term& image, const Windows& windows,
            const Arithmetic& arithmetic, double first) {
  const std::size_t rank = windows.kernel.size();
  const std::size_t loops = 2 + 2 * rank;
  const ElementType element = image.type.element;
  std::vector<std::string> at{"d0", "d1"};
  for (std::string& index : image_indices(windows, 2, 2 + rank)) at.push_back(std::move(index));
  std::vector<std::int64_t> result(2 + rank);
  std::iota(result.begin(), result.end(), 0);
  std::vector<std::int64_t> window(rank);
  std::iota(window.begin(), window.end(), static_cast<std::int64_t>(2 + rank));
  const std::array reads{
      Read{image, map_text(loops, at)},
      Read{node.empty(element, Shape(windows.kernel)), map_of_loops(loops, window)}};
  const Term into = node.filled(element, node.result_shape(), first);
  return node.loop(reads, into, map_of_loops(loops, result),
                   std::string(2 + rank, 'p') + std::string(rank, 'r'), [&](Region& region) {
                     return region.apply(operation_of(arithmetic, element),
                                         {region.argument(2), region.argument(0)});
                   });
}

std::vector<std::int64_t> kernel_of(const LoweredNode& node) {
  auto kernel = node.attribute_or<std::vector<std::int64_t>>("kernel_shape", {});
  if (kernel.empty()) invalid("a pooling without a kernel_shape");
  return kernel;
}

void lower_max_pool(LoweredNode& node) {
  if (node.node().graph->result_count(node.node().id) > 1) {
    impossible("a pooling that gives indices");
  }
  const Windows windows = windows_of(node, kernel_of(node));
  const double least = least_of(node.result_element());
  const Term image = padded_image(node, node.operand(0), windows, least);
  node.finish(pooled(node, image, windows, maximum, least));
}

/// How many elements from `first` up to `last` of the padded image each window holds, along one
/// axis; 1 where it holds none, whose sum is 0.
std::vector<float> counts_of(const Windows& windows, std::size_t axis, std::int64_t pixels,
                             std::int64_t first, std::int64_t last) {
  constexpr std::int64_t most_pixels = 1 << 24;
  if (pixels > most_pixels) impossible("more windows along an axis than 2^24");
  std::vector<float> counts;
  counts.reserve(static_cast<std::size_t>(pixels));
  const std::int64_t dilation = windows.dilations[axis];
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    // Elements of the window in front of that place.
    const auto in_front_of = [&](std::int64_t place) {
      const std::int64_t distance = place - pixel * windows.strides[axis];
      const std::int64_t count = distance <= 0 ? 0 : (distance + dilation - 1) / dilation;
      return std::min(count, windows.kernel[axis]);
    };
    const std::int64_t count = in_front_of(last) - in_front_of(first);
    counts.push_back(static_cast<float>(std::max<std::int64_t>(count, 1)));
  }
  return counts;
}

void lower_average_pool(LoweredNode& node) {
  std::vector<std::int64_t> given_after;
  const Windows windows = windows_of(node, kernel_of(node), &given_after);
  const ElementType element = node.result_element();
  if (!is_float(element)) impossible("an average of integers");
  const bool counts_padding = node.attribute_or<std::int64_t>("count_include_pad", 0) != 0;
  const Shape& shape = node.result_shape();
  Term sums = pooled(node, padded_image(node, node.operand(0), windows, 0), windows, addition, 0);
  // Windows hold as many along each axis as they do anywhere along the others.
  for (std::size_t axis = 0; axis < windows.kernel.size(); ++axis) {
    const auto at = static_cast<std::int64_t>(axis) + 2;
    const std::int64_t image = node.shape(0)[at].value();
    const std::int64_t first = counts_padding ? 0 : windows.before[axis];
    const std::int64_t last =
        windows.before[axis] + image + (counts_padding ? given_after[axis] : 0);
    const std::vector<float> counts = counts_of(windows, axis, shape[at].value(), first, last);
    std::vector<Extent> extents(static_cast<std::size_t>(shape.rank() - at), 1);
    extents[0] = shape[at];
    const Term count = node.cast(
        node.constant(Constant::from_values(ElementType::float32, Shape(std::move(extents)),
                                            std::span<const float>(counts))),
        element);
    sums = node.together(division, sums, count, shape);
  }
  node.finish(sums);
}

std::vector<std::int64_t> spatial_axes(const LoweredNode& node) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 2; axis < node.shape(0).rank(); ++axis) axes.push_back(axis);
  return axes;
}

void lower_global_average(LoweredNode& node) {
  const Term mean = mean_over(node, node.operand(0), spatial_axes(node));
  node.finish(node.reshaped(mean, node.result_shape()));
}

void lower_global_max(LoweredNode& node) {
  const Term found =
      reduced(node, node.operand(0), spatial_axes(node), maximum, least_of(node.result_element()));
  node.finish(node.reshaped(found, node.result_shape()));
}

constexpr std::array lowered_poolings{
    LowerRule{ops::AveragePool::kind, lower_average_pool},
    LowerRule{ops::GlobalAveragePool::kind, lower_global_average},
    LowerRule{ops::GlobalMaxPool::kind, lower_global_max},
    LowerRule{ops::MaxPool::kind, lower_max_pool},
};

}  // namespace

LowerRules pooling_rules() noexcept { return lowered_poolings; }

}  // namespace quadrant::inline v0::mlir_ir
