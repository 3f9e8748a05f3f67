// Forms, as the families compute with them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fake_quantize/profiles.hpp"
#include "quadrant/ir/explicit_quantization.hpp"

namespace quadrant::inline v0::low_precision {

/// Of a convolution.
[[nodiscard]] inline std::int64_t groups_of(NodeRef node) {
  return node.attribute_or<std::int64_t>("group", 1);
}

/// Whether it is a convolution, with data, each of whose groups has one channel of that.
[[nodiscard]] bool is_depthwise(NodeRef node);

/// Codes of 32 bits: what sums are held in. They have no zero point.
[[nodiscard]] inline bool is_sum(const GivenForm& form) noexcept {
  return form.storage() == ElementType::int32;
}

/// Scales, one for all or one for each index of an axis. Read whole; not empty.
struct AxisScales {
  std::optional<std::int64_t> axis;
  std::vector<float> scales;

  [[nodiscard]] float at(std::size_t index) const { return scales[axis ? index : 0]; }
};

/// Empty for scales of blocks, and for what cannot be read.
[[nodiscard]] std::optional<AxisScales> axis_scales(const GivenForm& form);

/// The scales as those of a tensor of `rank` axes to which one of shape `shape` broadcasts; one for
/// all where the axis has extent 1.
[[nodiscard]] AxisScales broadcast_scales(AxisScales scales, const Shape& shape, std::int64_t rank);

/// One for each channel of the result of two operands: `combine(a, b)`. Empty where both have an
/// axis, and not the same.
template <class Combine>
[[nodiscard]] std::optional<AxisScales> combined(const AxisScales& a, const AxisScales& b,
                                                 Combine combine) {
  if (a.axis && b.axis && (a.axis != b.axis || a.scales.size() != b.scales.size())) {
    return std::nullopt;
  }
  AxisScales result{a.axis ? a.axis : b.axis, {}};
  const std::size_t count = a.axis ? a.scales.size() : b.scales.size();
  for (std::size_t i = 0; i < count; ++i) result.scales.push_back(combine(a.at(i), b.at(i)));
  return result;
}

/// Codes of 32 bits in these scales, of floats `expressed`. Empty where one is zero or not
/// finite.
[[nodiscard]] std::optional<GivenForm> sum_form(const AxisScales& scales, ElementType expressed);

/// The step, beside `scale`, of a grid on which what is computed of codes is rounded: so fine that
/// it does not count. Sums have it already.
///
///   a code of 8 bits takes 24 of 32 bits there, and its rounding is off by 1/131072 of its step
[[nodiscard]] inline float fine_step(const GivenForm& form, float scale) noexcept {
  constexpr float steps_of_a_code = 65536;
  return is_sum(form) ? scale : scale / steps_of_a_code;
}

/// The form of a result that is computed of codes of `form`: sums as they are, others on the fine
/// grid.
[[nodiscard]] std::optional<GivenForm> fine_form(const GivenForm& form);

/// Whether numbers that are added to such a sum, in float, leave it room: half of its 32 bits, or
/// stay within `room` codes, where less is left.
[[nodiscard]] bool fits_sum(const Constant& numbers, const GivenForm& sum, double room = 0x1p30);

/// Whether all scales are above zero: the order of codes is that of the floats.
[[nodiscard]] bool keeps_order(const GivenForm& form);

[[nodiscard]] inline PendingDequantize refuse(const char* why) { return {.why = why}; }

/// A result in `form`, computed from the codes of `operands`; sums can be requantized at once.
[[nodiscard]] PendingDequantize follow_in(std::optional<GivenForm> form,
                                          std::vector<std::uint32_t> operands);

/// Numbers that are known, one for all or one for each index of an axis of a result of `rank`
/// axes to which they broadcast. Empty where they are computed, or differ along several axes.
struct AxisNumbers {
  std::optional<std::int64_t> axis;
  std::vector<double> numbers;
};
[[nodiscard]] std::optional<AxisNumbers> axis_numbers(NodeRef node, std::uint32_t operand,
                                                      std::int64_t rank);

/// Whether the operand is a constant, and not codes.
[[nodiscard]] inline bool is_real_constant(NodeRef node, std::uint32_t operand) {
  const Constant* const constant = node.operand_constant(operand);
  return constant != nullptr && is_float(constant->element());
}

/// Why no kernel for `rule` reads data of this form: a literal, or null.
[[nodiscard]] const char* refuse_data(const PrecisionRule& rule, const GivenForm& form);

}  // namespace quadrant::inline v0::low_precision
