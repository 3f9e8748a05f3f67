#include "io/mlir/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/mlir/failure.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

std::vector<std::int64_t> list_of(const LoweredNode& node, std::string_view name, std::size_t size,
                                  std::int64_t fallback) {
  auto values = node.attribute_or<std::vector<std::int64_t>>(name, {});
  if (values.empty()) values.assign(size, fallback);
  if (values.size() != size) invalid(fmt::format("{} {}, of {} axes", values.size(), name, size));
  return values;
}

}  // namespace

Windows windows_of(const LoweredNode& node, std::vector<std::int64_t> kernel,
                   std::vector<std::int64_t>* given_after) {
  const Shape& image = node.shape(0);
  const Shape& result = node.result_shape();
  const std::size_t rank = kernel.size();
  if (image.rank() != static_cast<std::int64_t>(rank) + 2 || result.rank() != image.rank()) {
    invalid("an image of another rank than its windows");
  }
  const auto pads = list_of(node, "pads", 2 * rank, 0);
  Windows windows{std::move(kernel),
                  list_of(node, "strides", rank, 1),
                  list_of(node, "dilations", rank, 1),
                  {pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank)},
                  {pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end()}};
  for (const auto& list : {windows.kernel, windows.strides, windows.dilations}) {
    if (std::ranges::any_of(list,
                            [](std::int64_t value) { return value < 1 || value > 1 << 30; })) {
      invalid("windows without an extent, a stride or a dilation");
    }
  }
  const auto automatic = node.attribute_or<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && !automatic.empty()) {
    impossible("automatic pads that runtimes say different things about");
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto at = static_cast<std::int64_t>(axis) + 2;
    const std::int64_t needed = windows.reach(axis, result[at].value());
    if (windows.before[axis] < 0 || windows.before[axis] > 1 << 30) impossible("negative pads");
    if (given_after != nullptr) given_after->push_back(windows.after[axis]);
    windows.after[axis] = needed - image[at].value() - windows.before[axis];
  }
  return windows;
}

Term padded_image(LoweredNode& node, const Term& image, const Windows& windows, double value) {
  const Shape& shape = image.type.shape;
  const auto rank = static_cast<std::size_t>(shape.rank());
  std::vector<std::int64_t> before(rank, 0);
  std::vector<std::int64_t> after(rank, 0);
  std::vector<std::int64_t> kept(shape.known_extents().begin(), shape.known_extents().end());
  for (std::size_t axis = 0; axis < windows.kernel.size(); ++axis) {
    before[axis + 2] = windows.before[axis];
    after[axis + 2] = std::max<std::int64_t>(windows.after[axis], 0);
    kept[axis + 2] += std::min<std::int64_t>(windows.after[axis], 0);
    if (kept[axis + 2] < 0) impossible("windows that reach the padding alone");
  }
  const std::vector<std::int64_t> starts(rank, 0);
  const std::vector<std::int64_t> steps(rank, 1);
  return node.padded(node.slice(image, starts, Shape(kept), steps), before, after, value);
}

std::vector<std::string> image_indices(const Windows& windows, std::size_t pixel,
                                       std::size_t window) {
  std::vector<std::string> indices;
  indices.reserve(windows.kernel.size());
  for (std::size_t axis = 0; axis < windows.kernel.size(); ++axis) {
    indices.push_back(fmt::format("d{} * {} + d{} * {}", pixel + axis, windows.strides[axis],
                                  window + axis, windows.dilations[axis]));
  }
  return indices;
}

}  // namespace quadrant::inline v0::mlir_ir
