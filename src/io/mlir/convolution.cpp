// Convolutions of images [N, C, spatial...].
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/mlir/failure.hpp"
#include "io/mlir/rules.hpp"
#include "io/mlir/text.hpp"
#include "io/mlir/windows.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

std::string window_properties(const Windows& windows) {
  const auto list = [](const std::vector<std::int64_t>& values) {
    return fmt::format("dense<[{}, {}]> : tensor<2xi64>", values[0], values[1]);
  };
  return fmt::format("dilations = {}, strides = {}", list(windows.dilations),
                     list(windows.strides));
}

std::string loop_name(std::size_t loop) { return fmt::format("d{}", loop); }

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<std::string> loop_names(std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  names.reserve(count);
  for (std::size_t i = 0; i < count; ++i) names.push_back(loop_name(first + i));
  return names;
}

/// Those that linalg has a name for. Loops: n, f, y, x, c, ky, kx.
Term named_convolution(LoweredNode& node, const Term& image, const Term& weight, const Term& into,
                       const Windows& windows) {
  std::vector<std::string> at{"d0", "d4"};
  append(at, image_indices(windows, 2, 5));
  const std::array maps{map_text(7, at),
                        map_text(7, std::array<std::string, 4>{"d1", "d4", "d5", "d6"}),
                        map_text(7, loop_names(0, 4))};
  return node.sum_of_products("linalg.conv_2d_nchw_fchw", image, weight, into,
                              window_properties(windows), maps);
}

/// A filter for each channel. Loops: n, y, x, c, ky, kx.
Term depthwise_convolution(LoweredNode& node, const Term& image, const Term& weight,
                           const Term& into, const Windows& windows) {
  std::vector<std::string> at{"d0", "d3"};
  append(at, image_indices(windows, 1, 4));
  const std::array maps{map_text(6, at), map_text(6, loop_names(3, 3)),
                        map_text(6, std::array<std::string, 4>{"d0", "d3", "d1", "d2"})};
  return node.sum_of_products("linalg.depthwise_conv_2d_nchw_chw", image, weight, into,
                              window_properties(windows), maps);
}

/// Of any rank and number of groups: images [N, G, C / G, ...], weights [G, M / G, C / G, ...].
/// Loops: n, g, f, pixels, c, window.
Term grouped_convolution(LoweredNode& node, const Term& image, const Term& weight, const Term& into,
                         const Windows& windows) {
  const std::size_t rank = windows.kernel.size();
  const std::size_t channel = 3 + rank;
  const std::size_t loops = channel + 1 + rank;
  std::vector<std::string> at{"d0", "d1", loop_name(channel)};
  append(at, image_indices(windows, 3, channel + 1));
  std::vector<std::string> tap{"d1", "d2"};
  append(tap, loop_names(channel, 1 + rank));
  const std::array reads{Read{image, map_text(loops, at)}, Read{weight, map_text(loops, tap)}};
  const std::string kinds = std::string(channel, 'p') + std::string(1 + rank, 'r');
  return node.loop(reads, into, map_text(loops, loop_names(0, channel)), kinds, [](Region& region) {
    return region.add(region.argument(2), region.multiply(region.argument(0), region.argument(1)));
  });
}

/// The axis `axis` as two, of which the first has this extent.
Shape with_groups(const Shape& shape, std::int64_t axis, std::int64_t groups) {
  std::vector<std::int64_t> extents(shape.known_extents().begin(), shape.known_extents().end());
  extents[static_cast<std::size_t>(axis)] /= groups;
  extents.insert(extents.begin() + axis, groups);
  return Shape(extents);
}

void lower_convolution(LoweredNode& node) {
  const Term weight = node.operand(1);
  const Shape& taps = weight.type.shape;
  const Shape& result = node.result_shape();
  const auto groups = node.attribute_or<std::int64_t>("group", 1);
  if (taps.rank() < 3 || groups < 1) invalid("the weight or the groups");
  const auto spatial = taps.known_extents().subspan(2);
  const Windows windows = windows_of(node, {spatial.begin(), spatial.end()});
  const std::int64_t channels = node.shape(0)[1].value();
  if (channels != taps[1].value() * groups || taps[0].value() % groups != 0)
    invalid("channels and groups");
  const ElementType element = node.result_element();
  const Term image = padded_image(node, node.operand(0), windows, 0);
  // Sums begin with the bias, where there is one.
  Term into = node.has(2) ? Term{} : node.filled(element, result, 0);
  if (node.has(2)) {
    const std::array bias{Read{
        node.operand(2),
        map_of_loops(static_cast<std::size_t>(result.rank()), std::array<std::int64_t, 1>{1})}};
    into = node.loop(bias, node.empty(element, result),
                     identity_map(static_cast<std::size_t>(result.rank())),
                     std::string(static_cast<std::size_t>(result.rank()), 'p'),
                     [](Region& region) { return region.argument(0); });
  }
  if (groups == 1 && taps.rank() == 4) {
    node.finish(named_convolution(node, image, weight, into, windows));
  } else if (taps.rank() == 4 && groups == channels && surely_equal(taps[0], channels)) {
    const Term taps_of = node.reshaped(weight, Shape{taps[0], taps[2], taps[3]});
    node.finish(depthwise_convolution(node, image, taps_of, into, windows));
  } else {
    const Term made =
        grouped_convolution(node, node.reshaped(image, with_groups(image.type.shape, 1, groups)),
                            node.reshaped(weight, with_groups(taps, 0, groups)),
                            node.reshaped(into, with_groups(result, 1, groups)), windows);
    node.finish(node.reshaped(made, result));
  }
}

constexpr std::array lowered_convolutions{LowerRule{ops::Conv::kind, lower_convolution}};

}  // namespace

LowerRules convolution_rules() noexcept { return lowered_convolutions; }

}  // namespace quadrant::inline v0::mlir_ir
