// Strides, dilations and paddings of convolutions and poolings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/mlir/lower.hpp"

namespace quadrant::inline v0::mlir_ir {

/// How a window slides over an image [N, C, spatial...]: a number for each spatial axis.
struct Windows {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> before;  ///< padding
  std::vector<std::int64_t> after;   ///< padding, and below 0 what no window reaches

  /// Elements of the padded image that the first so many windows reach, along an axis.
  [[nodiscard]] std::int64_t reach(std::size_t axis, std::int64_t windows) const {
    return (windows - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
  }
};

/// From the attributes `strides`, `dilations` and `pads` of a window with these extents. `after` is
/// what the result needs, be it more than is asked for (a rounding up) or less. `given_after`, if
/// it is there, gets what is asked for. `invalid` for lists of another length.
[[nodiscard]] Windows windows_of(const LoweredNode& node, std::vector<std::int64_t> kernel,
                                 std::vector<std::int64_t>* given_after = nullptr);

/// The image with its padding, cut off where no window reaches.
[[nodiscard]] Term padded_image(LoweredNode& node, const Term& image, const Windows& windows,
                                double value);

/// The index of the image for each loop over a result's pixels (from loop `pixel`) and one over the
/// window (from loop `window`): `d2 * 2 + d4`.
[[nodiscard]] std::vector<std::string> image_indices(const Windows& windows, std::size_t pixel,
                                                     std::size_t window);

}  // namespace quadrant::inline v0::mlir_ir
