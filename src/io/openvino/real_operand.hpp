// Operands that OpenVINO must not join to what reads them: as codes, or scales.
#pragma once

#include "io/openvino/lower.hpp"

namespace quadrant::inline v0::openvino_ir {

/// Which codes an operation must not get.
enum class Scales : std::uint8_t {
  any,
  several,             ///< those whose scales, zero points or bounds are more than one number
  several_or_shifted,  ///< and what more than one number is added to
};

/// The larger one of it and -infinity, which it is itself: what is in front does not become part of
/// what follows.
[[nodiscard]] Output kept_apart(LoweredNode& node, Output output);

/// Operand `index`, behind a layer that OpenVINO's low-precision passes do not move codes through,
/// where these may come to it. The passes take for codes also what is scaled by a constant, once
/// there are codes anywhere in the model.
///
/// For operations that compute something else on codes than they say (seen in release 2026.4): Pad
/// along one axis cuts the number that it fills in to an integer of the codes' type, and Clamp its
/// bounds, AvgPool counts pads as code 0, MVN divides by no epsilon, Gather by anything but a list
/// has a result of another shape where there are several scales, Reshape is not loaded where it
/// joins their axis to others, reductions along their axis, or of one that is shifted, do not keep
/// them apart, and a transposed convolution whose stride leaves pixels out, which is computed in
/// floats, passes the scale of its first channel on. A convolution of groups that make
/// several channels of one takes the zero point off wrongly.
[[nodiscard]] Output real_operand(LoweredNode& node, std::size_t index,
                                  Scales scales = Scales::any);

/// The node's result is that of the layer, behind such a layer, too: for the largest and smallest
/// along axes, which as codes are wrong where a FakeQuantize follows that makes others than came
/// in.
void make_real(LoweredNode& node, const OpName& op, std::span<const Output> inputs,
               const Data& data);

/// Operand 0 of a FakeQuantize, behind the same layer where it would take several scales over from
/// what is in front of it, which it does wrongly (seen in release 2026.4): of open extents, those
/// of operations that are followed by limits or signs, of which it takes the first for all; and
/// those of a matrix product of two known extents that has no bias, or more than that behind it,
/// where several such become one loop. `is_limited`: by what is yet to be made.
[[nodiscard]] Output operand_of_one_scale(LoweredNode& node, bool is_limited = false);

}  // namespace quadrant::inline v0::openvino_ir
