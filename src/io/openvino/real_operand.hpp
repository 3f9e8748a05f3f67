// Operands that OpenVINO must not take for codes.
#pragma once

#include "io/openvino/lower.hpp"

namespace quadrant::inline v0::openvino_ir {

/// Which codes an operation must not get.
enum class Scales : std::uint8_t {
  any,
  several,  ///< those whose scales, zero points or bounds are more than one number
};

/// Operand `index`, behind a layer that OpenVINO's low-precision passes do not move codes through,
/// where these may come to it: the larger one of it and -infinity, which it is itself. The passes
/// take for codes also what is scaled by a constant, once there are codes anywhere in the model.
///
/// For operations that compute something else on codes than they say (seen in release 2026.4): Pad
/// along one axis cuts the number that it fills in to an integer of the codes' type, AvgPool
/// counts pads as code 0, and Gather by anything but a list has a result of another shape where
/// there are several scales.
[[nodiscard]] Output real_operand(LoweredNode& node, std::size_t index,
                                  Scales scales = Scales::any);

}  // namespace quadrant::inline v0::openvino_ir
