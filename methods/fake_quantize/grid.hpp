// From the ranges of a fake_quantize to scales and zero points.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "numerics/fake_quantize.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::low_precision {

/// What a fake_quantize says, read.
struct Ranges {
  std::int64_t levels = 0;
  Granularity granularity;  ///< tensor or axis; tensor where all of an axis are the same
  std::vector<FakeQuantizeBounds<double>> groups;
};

/// `impossible`, with the reason, where the bounds are computed, differ along several axes, or are
/// not finite; where an input range runs backwards; for more than 256 levels.
[[nodiscard]] Expected<Ranges> read_ranges(NodeRef node);

/// The codes of a fake_quantize. `input`: what floats are quantized by; `output`: what the
/// codes mean. The same object where both ranges are the same.
struct CodeTypes {
  std::shared_ptr<const UniformType> input;
  std::shared_ptr<const UniformType> output;
  std::string remark;  ///< where zero was not on the grid, and what was done; empty: it was
};

/// What is done about a grid that misses zero.
struct ZeroRule {
  bool repair = false;
  double tolerance = 0;  ///< in 256ths of the range
};

/// Types of codes for floats `expressed` (Jacob et al., arXiv 1712.05877, equation 1):
///
///   scale = (high - low) / (levels - 1), zero point = smallest code - low / scale
///
///   [0, 2.55], 256 levels      u8 0.01:0
///   [-1.28, 1.27], 256 levels  i8 0.01:0, or u8 0.01:128
///   [-1.27, 1.27], 255 levels  i8<-127:127> 0.01:0
///
/// Codes have a sign where that makes all zero points 0 and `storages` has such a type; 4 bits
/// where that is enough and it has such a type. `impossible`, with the reason, where zero is off
/// the grid by more than the tolerance, or outside of the range, and nothing is to be repaired; for
/// a channel whose range has no length.
///
/// `repair` stretches a range until it holds zero, and then shifts it so that zero is the nearest
/// step: by at most half of one, its length stays.
[[nodiscard]] Expected<CodeTypes> activation_types(const Ranges& ranges, ElementType expressed,
                                                   Storages storages, const ZeroRule& zero);

/// The code, of those from `smallest` on, of a channel that is one number other than zero: 1, with
/// that number as its scale, or -1, of two levels with a sign, with the opposite one.
[[nodiscard]] std::int64_t code_of_one_number(std::int64_t smallest, std::int64_t levels) noexcept;

/// The same for constants, of which `output` is all that is asked for. A channel whose output range
/// has no length is that one number, by `code_of_one_number`.
[[nodiscard]] Expected<CodeTypes> constant_types(const Ranges& ranges, ElementType expressed,
                                                 Storages storages, const ZeroRule& zero);

}  // namespace quadrant::inline v0::low_precision
