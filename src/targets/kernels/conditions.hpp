// What rules ask of a node and of the parameters around it.
#pragma once

#include <cstdint>

#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::target_kernels {

/// Whether the operand is a matrix that is known, behind what moves it.
[[nodiscard]] bool is_constant_matrix(NodeRef node, std::uint32_t operand);

// --- KernelRule::commutes ------------------------------------------------------------------------
[[nodiscard]] bool always(NodeRef node);
/// Resize to the nearest element.
[[nodiscard]] bool takes_nearest(NodeRef node);
/// The bounds are known.
[[nodiscard]] bool has_bounds(NodeRef node);

// --- KernelRule::keeps ---------------------------------------------------------------------------
/// The bounds are codes of the form, or beyond them.
[[nodiscard]] bool keeps_bounded(NodeRef node, const GivenForm& form);
/// The value that is padded with is a code of the form.
[[nodiscard]] bool keeps_padded(NodeRef node, const GivenForm& form);

// --- KernelRule::refusal -------------------------------------------------------------------------
/// Clamps to [0, inf), [0, 6] and [-1, 1] of 8 bits have kernels that change the parameters; others
/// do not.
[[nodiscard]] const char* refuse_odd_clamp(NodeRef node, const GivenForm& from,
                                           const GivenForm& to);
/// The same, and only where the parameters do not change.
[[nodiscard]] const char* refuse_changing_clamp(NodeRef node, const GivenForm& from,
                                                const GivenForm& to);
/// [1/256, 128] for the scales' ratio, and for alpha times it; alpha is not 0.
[[nodiscard]] const char* refuse_steep_leaky_relu(NodeRef node, const GivenForm& from,
                                                  const GivenForm& to);
[[nodiscard]] const char* refuse_scaled_elu(NodeRef node, const GivenForm& from,
                                            const GivenForm& to);
[[nodiscard]] const char* refuse_edge_padding(NodeRef node, const GivenForm& from,
                                              const GivenForm& to);
/// Codes of 16 bits, of which a step is more than the kernel's table of the curve has room for.
[[nodiscard]] const char* refuse_wide_sigmoid(NodeRef node, const GivenForm& from,
                                              const GivenForm& to);
/// Codes among which are some of numbers below 0.
[[nodiscard]] const char* refuse_negative_codes(NodeRef node, const GivenForm& from,
                                                const GivenForm& to);
/// Codes of 8 bits in steps below 1/256, which kernels that compare take for equal.
[[nodiscard]] const char* refuse_short_steps(NodeRef node, const GivenForm& from,
                                             const GivenForm& to);
/// Sums, and means, of more codes of 16 bits than 32 bits have room for; of axes that are open,
/// one.
[[nodiscard]] const char* refuse_long_sum(NodeRef node, const GivenForm& from, const GivenForm& to);
/// Softmax and its like, along the last axis alone.
[[nodiscard]] const char* refuse_inner_axis(NodeRef node, const GivenForm& from,
                                            const GivenForm& to);
/// Resize by modes other than nearest and linear; of 16 bits, other than nearest.
[[nodiscard]] const char* refuse_cubic(NodeRef node, const GivenForm& from, const GivenForm& to);
/// Pooling with dilations, or with a second result.
[[nodiscard]] const char* refuse_places(NodeRef node, const GivenForm& from, const GivenForm& to);
/// The same, and pooling with dilations.
[[nodiscard]] const char* refuse_dilated(NodeRef node, const GivenForm& from, const GivenForm& to);

}  // namespace quadrant::inline v0::target_kernels
