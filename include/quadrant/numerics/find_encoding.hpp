// Encodings of ranges, of values, and of whole constants.
#pragma once

#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/numerics/encoding_rule.hpp"
#include "quadrant/numerics/weighted_value.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Of values of which no more is known than their range: by `adjusted_weights` if that is the
/// rule's method, else by `minmax`.
///
///   {-1.8, 0.5}, snpe()  ->  {-1.803922, 0.496078}, scale 0.00901961, zero point 200
///
/// `impossible`: a bad rule; ends that are not finite, or the wrong way round.
[[nodiscard]] Expected<Encoding> find_encoding(double min, double max, const EncodingRule& rule);

/// Of all values, in any order. None: as of a range from 0 to 0. Sorts a copy, of 56 bytes a value,
/// unless the range is all that the method asks for. `enhanced` and `mse` take about 0.2 s for a
/// million values at 8 bits and some seconds at 16; for how exact they are, see
/// docs/encodings.md.
///
/// `impossible`: a bad rule. `invalid_model`: NaN or infinity, with its index.
[[nodiscard]] Expected<Encoding> find_encoding(std::span<const float> values,
                                               const EncodingRule& rule);

/// Of what a histogram knows of values: `values`, in ascending order, from `min` to `max`, the true
/// ends.
///
/// `impossible`: a bad rule. `invalid_model`: values that are not finite, not in order or not
/// within the ends.
[[nodiscard]] Expected<Encoding> find_encoding(std::span<const WeightedValue> values, double min,
                                               double max, const EncodingRule& rule);

/// Of each group of values that shares a scale, in the order of scales; uniform_type() makes a type
/// of them. `weights` is of any float type, read once; float64 is rounded to float32 first. Holds
/// the part of the tensor over which a group is spread.
///
/// Errors as above, and `impossible` for other types and for a granularity that does not fit.
[[nodiscard]] Expected<std::vector<Encoding>> find_encodings(const Constant& weights,
                                                             const Granularity& granularity,
                                                             const EncodingRule& rule);

/// The encoding that someone prescribed by its ends. Bits and symmetry are the rule's; scale and
/// zero point are computed anew, whatever else was given with them. The ends of an encoding give
/// that encoding back: where symmetric, the scale is max(max / floor(n / 2), -min / ceil(n / 2)).
/// Method and minimum range do not count.
///
///   {-2.1006477, 1.70055947}  ->  zero point 141
///
/// `impossible` as of a range.
[[nodiscard]] Expected<Encoding> encoding_from_ends(double min, double max,
                                                    const EncodingRule& rule);

}  // namespace quadrant::inline v0
