#include "fake_quantize/forms.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "ir/scales.hpp"
#include "numerics/reals.hpp"

namespace quadrant::inline v0::low_precision {

bool is_depthwise(NodeRef node) {
  if (node.kind() != ops::Conv::kind) return false;
  const Shape& data = node.operand_type(0)->shape;
  return data.rank() > 1 && groups_of(node) > 0 && surely_equal(data[1], groups_of(node));
}

std::optional<AxisScales> axis_scales(const GivenForm& form) {
  const Granularity& granularity = form.type->granularity;
  if (granularity.kind == Granularity::Kind::block) return std::nullopt;
  auto scales = read_scales(form.type->scales);
  if (!scales || scales->empty()) return std::nullopt;
  AxisScales result{{}, *std::move(scales)};
  if (granularity.kind == Granularity::Kind::axis) result.axis = granularity.axis;
  return result;
}

AxisScales broadcast_scales(AxisScales scales, const Shape& shape, std::int64_t rank) {
  if (!scales.axis) return scales;
  if (scales.scales.size() == 1) return {{}, std::move(scales.scales)};
  *scales.axis += rank - shape.rank();
  return scales;
}

std::optional<GivenForm> sum_form(const AxisScales& scales, ElementType expressed) {
  const bool are_scales = std::ranges::all_of(
      scales.scales, [](float scale) { return scale != 0 && std::isfinite(scale); });
  if (!are_scales) return std::nullopt;
  auto type = std::make_shared<UniformType>();
  const IntegerRange range = integer_range(ElementType::int32).value_or(IntegerRange{});
  type->storage = ElementType::int32;
  type->expressed = expressed;
  type->storage_min = range.min;
  type->storage_max = range.max;
  if (scales.axis) type->granularity = Granularity::per_axis(*scales.axis);
  const Shape shape = scales.axis ? Shape{static_cast<std::int64_t>(scales.scales.size())}
                                  : Shape(std::vector<std::int64_t>{});
  type->scales = make_scales(ElementType::float32, shape, scales.scales);
  return GivenForm::of(std::move(type));
}

std::optional<GivenForm> fine_form(const GivenForm& form) {
  if (is_sum(form)) return form;
  auto scales = axis_scales(form);
  if (!scales) return std::nullopt;
  for (float& scale : scales->scales) scale = fine_step(form, scale);
  return sum_form(*scales, form.type->expressed);
}

bool fits_sum(const Constant& numbers, const GivenForm& sum, double room) {
  const auto reals =
      is_float(numbers.element()) ? read_reals(numbers) : Expected<std::vector<double>>();
  const auto scales = axis_scales(sum);
  if (!reals || reals->empty() || !scales) return false;
  const bool are_finite =
      std::ranges::all_of(*reals, [](double real) { return std::isfinite(real); });
  if (!are_finite) return false;
  constexpr double most_steps = 0x1p30;
  const double limit = std::min(room, most_steps);
  const auto fits = [limit](double real, float step) {
    return std::abs(real) / std::abs(static_cast<double>(step)) < limit;
  };
  const std::vector<float>& steps = scales->scales;
  // One for each channel; else the largest beside the finest.
  if (reals->size() == steps.size()) return std::ranges::equal(*reals, steps, fits);
  const auto magnitude = [](auto a, auto b) { return std::abs(a) < std::abs(b); };
  return fits(*std::ranges::max_element(*reals, magnitude),
              *std::ranges::min_element(steps, magnitude));
}

bool keeps_order(const GivenForm& form) {
  const auto scales = axis_scales(form);
  return scales && std::ranges::all_of(scales->scales, [](float scale) { return scale > 0; });
}

PendingDequantize follow_in(std::optional<GivenForm> form, std::vector<std::uint32_t> operands) {
  if (!form) return refuse("its scale is no number that float32 has");
  const bool requantizes = is_sum(*form);
  return {.form = std::move(form),
          .operands = std::move(operands),
          .requantizes = requantizes,
          .why = {}};
}

std::optional<AxisNumbers> axis_numbers(NodeRef node, std::uint32_t operand, std::int64_t rank) {
  const Constant* const constant = node.operand_constant(operand);
  if (constant == nullptr || !is_float(constant->element()) || constant->shape().rank() > rank) {
    return std::nullopt;
  }
  AxisNumbers result;
  const Shape& shape = constant->shape();
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (surely_equal(shape[axis], 1)) continue;
    if (result.axis) return std::nullopt;
    result.axis = axis + rank - shape.rank();
  }
  auto numbers = read_reals(*constant);
  if (!numbers || numbers->empty()) return std::nullopt;
  result.numbers = *std::move(numbers);
  return result;
}

const char* refuse_data(const PrecisionRule& rule, const GivenForm& form) {
  if (is_sum(form)) {
    return "its operand is a sum of 32 bits, which no fake_quantize brings back to 8";
  }
  return rule.data.contains(form.storage()) ? nullptr
                                            : "the target has no kernel for codes of this type";
}

}  // namespace quadrant::inline v0::low_precision
