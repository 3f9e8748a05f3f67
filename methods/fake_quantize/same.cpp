// Operations that hand codes on as they are.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "fake_quantize/forms.hpp"
#include "ir/ops/windows.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

// --- moves --------------------------------------------------------------------------------------

// Whether a slice takes all of the axis, in order.
bool slices_none_of(NodeRef node, std::int64_t axis) {
  const auto ranges = ops::Slice{node}.ranges();
  if (!ranges) return false;
  const ops::Slice::Range& range = (*ranges)[static_cast<std::size_t>(axis)];
  return range.start == 0 && range.step == 1 &&
         surely_equal(node.operand_type(0)->shape[axis], range.count);
}

// Whether a padding adds nothing along the axis, and takes nothing away.
bool pads_none_of(NodeRef node, std::int64_t axis) {
  auto pads = node.attribute_or<std::vector<std::int64_t>>("pads", {});
  if (const Constant* const operand = node.operand_constant(1)) {
    pads = read_integers(*operand).value_or(std::vector<std::int64_t>());
  }
  const auto rank = node.type().shape.rank();
  const bool is_of_all_axes =
      node.operand(3).is_absent() && pads.size() == static_cast<std::size_t>(2 * rank);
  return is_of_all_axes && pads[static_cast<std::size_t>(axis)] == 0 &&
         pads[static_cast<std::size_t>(axis + rank)] == 0;
}

// Whether the result has the same channels, in the places of those with scales of their own.
bool keeps_channels(NodeRef node, const GivenForm& form) {
  const Shape& before = node.operand_type(0)->shape;
  const Shape& after = node.type().shape;
  const std::int64_t axis = form.type->granularity.axis;
  const bool is_same = form.type->granularity.kind == Granularity::Kind::axis &&
                       before.rank() == after.rank() && surely_equal(before[axis], after[axis]);
  if (!is_same) return false;
  if (node.kind() == ops::Slice::kind) return slices_none_of(node, axis);
  if (node.kind() == ops::Pad::kind) return pads_none_of(node, axis);
  return node.kind() == ops::MaxPool::kind || node.kind() == ops::GlobalMaxPool::kind ||
         node.kind() == ops::Resize::kind;
}

PendingDequantize follow_same(NodeRef node, const PrecisionRule& rule, Forms forms) {
  if (forms[0] == nullptr) return refuse("its operand is float");
  const GivenForm& form = *forms[0];
  const bool is_move = find_move(node) != nullptr;
  if (!is_move && !is_sum(form) && !rule.data.contains(form.storage())) {
    return refuse("the target has no kernel for codes of this type");
  }
  if (node.kind() == ops::Pad::kind && !traits_of(node).contains(Trait::stays_in_range)) {
    return refuse("what it adds is not zero");
  }
  if (node.kind() == ops::Resize::kind && !traits_of(node).contains(Trait::takes_elements)) {
    return refuse("what it makes lies between elements");
  }
  if (node.kind().ends_with("MaxPool") && !keeps_order(form)) {
    return refuse("a scale is negative, which turns the order of codes around");
  }
  PendingDequantize same{.form = {}, .operands = {0}, .requantizes = false, .why = {}};
  if (form.is_per_tensor() || keeps_channels(node, form)) {
    same.form = form;
  } else if (is_move) {
    same.form = moved_form(node, form);
  }
  return same.form ? same : refuse("channels of different scales do not stay together");
}

// --- one type of real numbers for another -------------------------------------------------------

PendingDequantize follow_float_cast(NodeRef node, const PrecisionRule& /*rule*/, Forms forms) {
  const auto to = ops::Cast{node}.to();
  if (forms[0] == nullptr) return refuse("its operand is float");
  if (!to || !is_float(*to)) return refuse("its result is not float");
  auto type = std::make_shared<UniformType>(*forms[0]->type);
  type->expressed = *to;
  return {.form = GivenForm::of(std::move(type)), .operands = {0}, .requantizes = false, .why = {}};
}

// --- side by side -------------------------------------------------------------------------------

// The parameters of an operand, one for each index of the axis.
struct BranchParameters {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
};

std::optional<BranchParameters> spread(const GivenForm& form, std::int64_t axis, Extent extent) {
  const auto scales = axis_scales(form);
  constexpr std::int64_t most_channels = 1 << 20;  // with a scale for each
  if (!scales || extent.value_or(most_channels + 1) > most_channels ||
      (scales->axis && scales->axis != axis)) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(extent.value());
  BranchParameters branch{
      scales->axis ? scales->scales : std::vector<float>(count, scales->scales.front()),
      std::vector<std::int64_t>(count, form.zero_point)};
  if (scales->axis && form.type->zero_points) {
    const Constant& zeros = form.type->zero_points;
    const auto read = read_integers(zeros, zeros.element_count());
    if (!read) return std::nullopt;
    branch.zero_points = *read;
  }
  if (branch.scales.size() != count) return std::nullopt;
  return branch;
}

PendingDequantize follow_concat(NodeRef node, const PrecisionRule& /*rule*/, Forms forms) {
  std::vector<std::uint32_t> operands;
  for (std::uint32_t i = 0; i < forms.size(); ++i) {
    if (forms[i] == nullptr) return refuse("an operand is float");
    if (forms[i]->storage() != forms[0]->storage()) return refuse("codes of different types meet");
    operands.push_back(i);
  }
  if (operands.empty()) return refuse("it has no operands");
  PendingDequantize result{
      .form = {}, .operands = std::move(operands), .requantizes = false, .why = {}};
  const bool is_one =
      std::ranges::all_of(forms, [&](const GivenForm* form) { return *form == *forms[0]; });
  const auto axis = ops::Concat{node}.axis();
  const bool may_join =
      is_one && (forms[0]->is_per_tensor() || forms[0]->type->granularity.axis != axis);
  if (may_join) {
    result.form = *forms[0];
    return result;
  }
  if (!axis) return refuse("its axis is not known");
  auto type = std::make_shared<UniformType>(*forms[0]->type);
  BranchParameters all;
  for (std::uint32_t i = 0; i < forms.size(); ++i) {
    const Shape& shape = node.operand_type(i)->shape;
    const auto branch = spread(*forms[i], *axis, shape.is_ranked() ? shape[*axis] : Extent::open());
    if (!branch) return refuse("its operands have scales along other axes than its own");
    all.scales.insert(all.scales.end(), branch->scales.begin(), branch->scales.end());
    all.zero_points.insert(all.zero_points.end(), branch->zero_points.begin(),
                           branch->zero_points.end());
    type->storage_min = std::min(type->storage_min, forms[i]->type->storage_min);
    type->storage_max = std::max(type->storage_max, forms[i]->type->storage_max);
  }
  const Shape layout{static_cast<std::int64_t>(all.scales.size())};
  type->granularity = Granularity::per_axis(*axis);
  type->scales = make_scales(ElementType::float32, layout, all.scales);
  type->zero_points = make_zero_points(type->storage, layout, all.zero_points);
  result.form = GivenForm::of(std::move(type));
  return result.form ? result : refuse("its scales cannot be read");
}

}  // namespace

constinit const Family same_family{"same", "the same codes", 1, follow_same};
constinit const Family concat_family{"concat", "the same codes, with scales for each channel", 1,
                                     follow_concat};
constinit const Family float_cast_family{"float cast",      "the same codes", 1,
                                         follow_float_cast, nullptr,          true};

}  // namespace quadrant::inline v0::low_precision
