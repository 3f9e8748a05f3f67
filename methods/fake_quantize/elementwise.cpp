// Sums and products of two, element by element.
#include "ir/ops/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "fake_quantize/forms.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

// Where each operand's scales are in the result. Empty where they are not known.
std::optional<AxisScales> scales_in_result(NodeRef node, std::uint32_t operand,
                                           const GivenForm& form) {
  const Shape& shape = node.operand_type(operand)->shape;
  const Shape& result = node.type().shape;
  auto scales = axis_scales(form);
  if (!scales || (scales->axis && (!shape.is_ranked() || !result.is_ranked()))) {
    return std::nullopt;
  }
  return broadcast_scales(*std::move(scales), shape, result.rank());
}

constexpr const char* unknown_scales = "its scales are of blocks, or its rank is not known";
constexpr const char* other_axes = "its operands have scales along different axes";

// Real numbers a and b, both known to a step: their sum on the finer of both grids, unless the
// coarser one would not fit there. Off by half a fine step of the coarser operand at most.
float common_step(float a, float b) {
  constexpr float most_apart = 32;  // 24 bits of a code or a sum, 5 for this, and 3 left
  const float fine = std::min(std::abs(a), std::abs(b));
  const float coarse = std::max(std::abs(a), std::abs(b));
  return std::max(fine, coarse / most_apart);
}

// How many steps of a bias there is room for in one of the products' (a shift to the left of the
// sum): 32 bits hold what the products can add up to, and as much for the bias. A bias that is
// rounded to the products' own steps would move one value in some thousands across a tie of the
// next fake_quantize.
float bias_steps(NodeRef maker) {
  const Product* const product = find_product(maker);
  if (product == nullptr || maker.operand_type(product->weight) == nullptr) return 1;
  const Shape& weight = maker.operand_type(product->weight)->shape;
  const auto axis = weight.is_ranked() ? product->channel(maker, weight) : std::nullopt;
  const auto elements = weight.element_count();
  if (!axis || !elements || *elements == 0) return 1;
  constexpr double largest_product = 255.0 * 128.0;
  const double largest_sum =
      largest_product * static_cast<double>(*elements) / static_cast<double>(weight[*axis].value());
  float steps = 1;
  constexpr float most_steps = 32;
  while (steps < most_steps && largest_sum * static_cast<double>(steps) * 4 <= 0x1p31) steps *= 2;
  return steps;
}

// No finer than float32 tells the constants apart: of a channel with next to no scale of its own,
// the constant is all that there is, and would need more than 32 bits.
void coarsen(AxisScales& scales, const AxisNumbers& constants) {
  constexpr double most_steps = 0x1p24;
  const auto coarsen_to = [](float& scale, double constant) {
    const double least = std::abs(constant) / most_steps;
    if (std::abs(static_cast<double>(scale)) < least) scale = static_cast<float>(least);
  };
  if (!scales.axis) {
    for (const double constant : constants.numbers) coarsen_to(scales.scales.front(), constant);
  } else if (!constants.axis) {
    for (float& scale : scales.scales) coarsen_to(scale, constants.numbers.front());
  } else if (constants.axis == scales.axis && constants.numbers.size() == scales.scales.size()) {
    for (std::size_t i = 0; i < scales.scales.size(); ++i) {
      coarsen_to(scales.scales[i], constants.numbers[i]);
    }
  }
}

// The grid on which a constant is added to codes of `form`, which are operand `data`.
std::optional<GivenForm> grid_of_sum(NodeRef node, std::uint32_t data, const GivenForm& form) {
  const auto fine = is_sum(form) ? std::optional(form) : fine_form(form);
  if (!fine) return std::nullopt;
  auto scales = axis_scales(*fine);
  if (!scales) return std::nullopt;
  if (is_sum(form)) {
    const float steps = bias_steps({node.graph, node.operand(data).node});
    for (float& scale : scales->scales) scale /= steps;
  }
  if (const auto constants = axis_numbers(node, 1 - data, node.type().shape.rank())) {
    coarsen(*scales, *constants);
  }
  return sum_form(*scales, form.type->expressed);
}

PendingDequantize follow_constant_term(NodeRef node, std::uint32_t data, const GivenForm& form) {
  // What is not known until the model runs is not codes.
  const Constant* const term = node.operand_constant(1 - data);
  if (term == nullptr) return refuse("one operand is float");
  if (node.kind() == ops::Sub::kind && data == 1) return refuse("it is subtracted from a constant");
  auto sum = grid_of_sum(node, data, form);
  if (sum && !fits_sum(*term, *sum))
    return refuse("the constant is not finite, or needs more than 32 bits");
  return follow_in(std::move(sum), {data});
}

PendingDequantize follow_sum(NodeRef node, const PrecisionRule& rule, Forms forms) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    if (forms[i] != nullptr && !is_sum(*forms[i]) && !rule.data.contains(forms[i]->storage())) {
      return refuse("the target has no kernel for codes of this type");
    }
  }
  if (forms[0] == nullptr && forms[1] == nullptr) return refuse("its operands are float");
  if (forms[1] == nullptr) return follow_constant_term(node, 0, *forms[0]);
  if (forms[0] == nullptr) return follow_constant_term(node, 1, *forms[1]);
  const auto a = scales_in_result(node, 0, *forms[0]);
  const auto b = scales_in_result(node, 1, *forms[1]);
  if (!a || !b) return refuse(unknown_scales);
  const auto steps = combined(*a, *b, [&](float first, float second) {
    return common_step(fine_step(*forms[0], first), fine_step(*forms[1], second));
  });
  if (!steps) return refuse(other_axes);
  return follow_in(sum_form(*steps, forms[0]->type->expressed), {0, 1});
}

std::optional<std::uint32_t> term_of(NodeRef node) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    if (is_real_constant(node, i)) return i;
  }
  return std::nullopt;
}

// --- products -----------------------------------------------------------------------------------

// The same codes, which mean `factor` times as much.
PendingDequantize follow_constant_factor(NodeRef node, std::uint32_t data, const GivenForm& form) {
  const Shape& shape = node.type().shape;
  const bool divides = node.kind() == ops::Div::kind;
  if (divides && data == 1) return refuse("a constant is divided by it");
  if (node.operand_type(data)->shape != shape) return refuse("the constant makes it larger");
  const auto numbers = axis_numbers(node, 1 - data, shape.rank());
  if (!numbers) return refuse("it is multiplied by what is no constant for each channel");
  const auto scales = scales_in_result(node, data, form);
  if (!scales) return refuse(unknown_scales);
  AxisScales factors{numbers->axis, {}};
  for (const double number : numbers->numbers) {
    factors.scales.push_back(static_cast<float>(divides ? 1 / number : number));
  }
  const auto product = combined(*scales, factors, [](float a, float b) { return a * b; });
  if (!product) return refuse(other_axes);
  const bool are_scales = std::ranges::all_of(
      product->scales, [](float scale) { return scale != 0 && std::isfinite(scale); });
  if (!are_scales) return refuse("a channel is multiplied by zero");

  auto type = std::make_shared<UniformType>(*form.type);
  const auto count = static_cast<std::int64_t>(product->scales.size());
  const Shape layout = product->axis ? Shape{count} : Shape(std::vector<std::int64_t>{});
  type->granularity = product->axis ? Granularity::per_axis(*product->axis) : Granularity{};
  type->scales = make_scales(ElementType::float32, layout, product->scales);
  if (type->zero_points) {
    const auto zeros =
        read_integers(form.type->zero_points, form.type->zero_points.element_count());
    if (!zeros) return refuse("its zero points cannot be read");
    const std::vector<std::int64_t> spread =
        zeros->size() == 1 ? std::vector<std::int64_t>(product->scales.size(), zeros->front())
                           : *zeros;
    type->zero_points = make_zero_points(type->storage, layout, spread);
  }
  return follow_in(GivenForm::of(std::move(type)), {data});
}

PendingDequantize follow_factor(NodeRef node, const PrecisionRule& rule, Forms forms) {
  if (forms[0] == nullptr && forms[1] == nullptr) return refuse("its operands are float");
  if (forms[1] == nullptr) return follow_constant_factor(node, 0, *forms[0]);
  if (forms[0] == nullptr) return follow_constant_factor(node, 1, *forms[1]);
  if (node.kind() == ops::Div::kind) return refuse("codes are divided by codes");
  for (const GivenForm* const form : forms.first(2)) {
    if (const char* const why = refuse_data(rule, *form)) return refuse(why);
  }
  const auto a = scales_in_result(node, 0, *forms[0]);
  const auto b = scales_in_result(node, 1, *forms[1]);
  if (!a || !b) return refuse(unknown_scales);
  const auto scales = combined(*a, *b, [](float first, float second) { return first * second; });
  if (!scales) return refuse(other_axes);
  return follow_in(sum_form(*scales, forms[0]->type->expressed), {0, 1});
}

}  // namespace

constinit const Family sum_family{"sum", "i32, finer than both operands", 2, follow_sum, term_of};
constinit const Family factor_family{
    "factor", "i32 in the product of both scales; of a constant: the same codes",
    2,        follow_factor,
    nullptr,  true};

}  // namespace quadrant::inline v0::low_precision
