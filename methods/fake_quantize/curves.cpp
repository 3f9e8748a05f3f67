// Functions of one tensor that are linear, at least in pieces: means, activations, limits.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fake_quantize/forms.hpp"
#include "ir/ops/windows.hpp"
#include "ir/scales.hpp"
#include "numerics/clamp_bounds.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

constexpr const char* is_real = "its operand is float";
constexpr const char* is_mirrored = "a scale is negative, which turns the order of codes around";

// --- means --------------------------------------------------------------------------------------

// How many elements a mean is of at most; 0 where that is not known.
std::int64_t averaged(NodeRef node) {
  std::int64_t count = 1;
  if (node.kind() == ops::AveragePool::kind) {
    for (const std::int64_t extent :
         node.attribute_or<std::vector<std::int64_t>>("kernel_shape", {})) {
      count = saturating_multiply(count, std::max<std::int64_t>(extent, 1));
    }
    return count;
  }
  const Shape& before = node.operand_type(0)->shape;
  const Shape& after = node.type().shape;
  const auto all = before.element_count();
  const auto kept = after.element_count();
  return all && kept && *kept > 0 ? *all / *kept : 0;
}

// Whether windows at the border may have fewer elements than others.
bool has_part_windows(NodeRef node) {
  if (node.kind() != ops::AveragePool::kind) return false;
  const auto pads = node.attribute_or<std::vector<std::int64_t>>("pads", {});
  const bool is_padded = std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; }) ||
                         node.attribute_or<std::string>("auto_pad", "NOTSET") != "NOTSET";
  const bool counts_padding = node.attribute_or<std::int64_t>("count_include_pad", 0) != 0;
  return (is_padded && !counts_padding) || node.attribute_or<std::int64_t>("ceil_mode", 0) != 0;
}

// The sum of codes is the mean, in a scale that is divided by their number: nothing is rounded,
// except where a window has fewer elements than others.
PendingDequantize follow_mean(NodeRef node, const PrecisionRule& rule, Forms forms) {
  if (forms[0] == nullptr) return refuse(is_real);
  const GivenForm& form = *forms[0];
  if (is_sum(form)) return refuse("sums of 32 bits have no room for the sum of several of them");
  if (!rule.data.contains(form.storage())) {
    return refuse("the target has no kernel for codes of this type");
  }
  auto scales = axis_scales(form);
  const Shape& before = node.operand_type(0)->shape;
  const Shape& after = node.type().shape;
  if (!scales) return refuse("it has scales of blocks");
  const bool keeps_axis =
      !scales->axis ||
      (before.rank() == after.rank() && surely_equal(before[*scales->axis], after[*scales->axis]));
  if (!keeps_axis) return refuse("its mean is over channels of different scales");
  // Of very many, sums are held in steps that are fine enough.
  constexpr std::int64_t most_exact = 1 << 16;
  const std::int64_t count = averaged(node);
  if (count < 1) return refuse("it is not known how many elements its mean is of");
  constexpr std::int64_t steps_of_parts = 64;
  const std::int64_t steps =
      std::min(count, most_exact) * (has_part_windows(node) ? steps_of_parts : 1);
  for (float& scale : scales->scales) scale /= static_cast<float>(steps);
  return follow_in(sum_form(*scales, form.type->expressed), {0});
}

// --- activations --------------------------------------------------------------------------------

PendingDequantize follow_curve(NodeRef node, const PrecisionRule& rule, Forms forms) {
  if (forms[0] == nullptr) return refuse(is_real);
  if (!is_sum(*forms[0]) && !rule.data.contains(forms[0]->storage())) {
    return refuse("the target has no kernel for codes of this type");
  }
  if (!keeps_order(*forms[0])) return refuse(is_mirrored);
  // A slope that is computed is read as it is.
  auto form = fine_form(*forms[0]);
  if (form && form->type->granularity.kind == Granularity::Kind::axis &&
      node.operand_type(0)->shape != node.type().shape) {
    return refuse("its channels do not stay where they are");
  }
  return follow_in(std::move(form), {0});
}

// --- limits -------------------------------------------------------------------------------------

// Whether the limits of real numbers are limits of codes.
bool are_codes(const ClampBounds& bounds, const GivenForm& form) {
  if (is_sum(form)) return true;
  if (!form.is_per_tensor()) return bounds.low == 0 && std::isinf(bounds.high);
  const auto is_code = [&](double bound) {
    constexpr double most_off = 1.0 / 256;
    const double code = bound / static_cast<double>(form.scale);
    const auto lowest = static_cast<double>(form.type->storage_min - form.zero_point);
    const auto highest = static_cast<double>(form.type->storage_max - form.zero_point);
    const bool is_beyond = code <= lowest || code >= highest;
    return is_beyond || std::abs(code - std::nearbyint(code)) <= most_off;
  };
  return is_code(bounds.low) && is_code(bounds.high);
}

PendingDequantize follow_clamp(NodeRef node, const PrecisionRule& rule, Forms forms) {
  if (forms[0] == nullptr) return refuse(is_real);
  const auto bounds = clamp_bounds(node);
  if (!bounds) return refuse("its limits are not known");
  if (!keeps_order(*forms[0])) return refuse(is_mirrored);
  if (!are_codes(*bounds, *forms[0])) return follow_curve(node, rule, forms);
  return follow_in(*forms[0], {0});
}

}  // namespace

constinit const Family mean_family{"mean", "i32, in the scale divided by their number", 1,
                                   follow_mean};
constinit const Family curve_family{"curve", "i32, finer than the operand", 1, follow_curve};
constinit const Family clamp_family{"clamp", "the same codes; i32 for limits between two of them",
                                    1, follow_clamp};

}  // namespace quadrant::inline v0::low_precision
