// Weights in memory to codes, at the speed of memory.
#pragma once

#include <cstddef>
#include <span>

#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

struct QuantizeWeightsOptions {
  /// Codes of 4 bits two in a byte, the first in the low half, as files have them; else each has a
  /// byte.
  bool packed = false;
  /// Runs the loop over parts of the tensor; null: the calling thread alone. Codes and parameters
  /// do not depend on it.
  Executor* executor = nullptr;
};

/// scan_parameters and the codes by what it finds, together: groups whose values lie together, and
/// fit a processor's cache, are read from memory once; tensors and columns twice. With Clip::mse
/// the calling thread alone searches, as scan_parameters does; `packed` codes of groups that begin
/// at odd elements take a byte each before they are joined.
///
///   [2x2] {1, -254, 0, 0}, per axis 0, by default  ->  scales [2] {2, 1}, codes {0, -127, 0, 0}
///
/// `weights` are the elements of a tensor of the static shape `shape`, in row-major order. `codes`
/// has a byte for each of them (two where the rule's storage has 16 bits; where `packed`, half of
/// one, rounded up) and does not overlap; its contents are unspecified where there is an error or
/// a value that is not finite. `impossible` where sizes do not fit, for `packed` codes that do not
/// have 4 bits, and for what scan_parameters refuses. May be called from any thread.
[[nodiscard]] Expected<ParameterScan> quantize_weights(
    std::span<const float> weights, const Shape& shape, const Granularity& granularity,
    const ScaleRule& rule, std::span<std::byte> codes, const QuantizeWeightsOptions& options = {});

/// The same for `weights` of any float type, which may lie anywhere: little-endian elements, of
/// which no rest may be left, each as widen_to_float makes it. `impossible` for another type.
[[nodiscard]] Expected<ParameterScan> quantize_weights(
    ElementType element, std::span<const std::byte> weights, const Shape& shape,
    const Granularity& granularity, const ScaleRule& rule, std::span<std::byte> codes,
    const QuantizeWeightsOptions& options = {});

}  // namespace quadrant::inline v0
