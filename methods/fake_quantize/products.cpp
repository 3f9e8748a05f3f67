// Convolutions and matrix products: sums of 32 bits in the scale of the products
// (Jacob et al., arXiv 1712.05877, section 2.2).
//
//   sum s_x (q_x - z_x) s_w (q_w - z_w) + b  =  s_x s_w (sum (q_x - z_x) (q_w - z_w) + b / (s_x
//   s_w))
//
// The scale of the data must be the same all along what is summed up, and so must that of the
// weight.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fake_quantize/forms.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

const char* refuse_factors(NodeRef node) {
  if (node.kind() != ops::Gemm::kind && node.kind() != ops::Addmm::kind) return nullptr;
  const bool is_plain = node.attribute_or("alpha", 1.0) == 1 && node.attribute_or("beta", 1.0) == 1;
  return is_plain ? nullptr : "alpha or beta is not 1";
}

// The scale of each channel of the sum.
struct Channels {
  std::optional<AxisScales> scales{};
  const char* why = nullptr;
};

Channels weight_channels(NodeRef node, const Product& product, const AxisScales& weight,
                         std::int64_t rank) {
  if (!weight.axis) return {weight};
  const Shape& shape = node.operand_type(product.weight)->shape;
  const auto kept = shape.is_ranked() ? product.channel(node, shape) : std::nullopt;
  if (kept != weight.axis) {
    return {{}, "the scales of its weight are along an axis that is summed up"};
  }
  AxisScales channels{is_convolution(product) ? 1 : rank - 1, {}};
  // Of a transposed convolution, each group has the weight's channels anew.
  const std::int64_t repeats = node.kind() == ops::ConvTranspose::kind ? groups_of(node) : 1;
  if (repeats < 1 ||
      (repeats > 1 && (shape[0].value_or(0) < 1 || shape[0].value() % repeats != 0))) {
    return {{}, "its groups are not equal parts of its channels"};
  }
  for (std::int64_t i = 0; i < repeats; ++i) {
    channels.scales.insert(channels.scales.end(), weight.scales.begin(), weight.scales.end());
  }
  return {std::move(channels)};
}

Channels data_channels(NodeRef node, const AxisScales& data) {
  if (!data.axis) return {data};
  const Shape& weight = node.operand_type(1)->shape;
  if (!is_depthwise(node) || data.axis != 1 || !weight.is_ranked() || weight[0].value_or(0) < 1) {
    return {{}, "its data has scales along an axis that is summed up"};
  }
  const auto repeats = static_cast<std::size_t>(weight[0].value()) / data.scales.size();
  AxisScales channels{1, {}};
  for (const float scale : data.scales) {
    channels.scales.insert(channels.scales.end(), repeats, scale);
  }
  return {std::move(channels)};
}

// Of a product of matrices, how many elements of the weight are summed up; empty where that is
// not known.
std::optional<std::int64_t> matrix_terms(NodeRef node, const Product& product,
                                         const Shape& weight) {
  if (weight.rank() == 1) return weight[0].known();
  if (weight.rank() < 2) return std::nullopt;
  const auto kept = product.channel(node, weight);
  if (!kept) return std::nullopt;
  return weight[*kept == weight.rank() - 1 ? weight.rank() - 2 : weight.rank() - 1].known();
}

// The same of a convolution: all axes but the one that the sum keeps.
std::optional<std::int64_t> window_terms(NodeRef node, const Product& product,
                                         const Shape& weight) {
  const auto kept = weight.rank() > 2 ? product.channel(node, weight) : std::nullopt;
  if (!kept) return std::nullopt;
  std::int64_t terms = 1;
  for (std::int64_t axis = 0; axis < weight.rank(); ++axis) {
    if (axis == *kept) continue;
    if (!weight[axis].is_known()) return std::nullopt;
    terms = saturating_multiply(terms, weight[axis].value());
  }
  const bool is_transposed = node.kind() == ops::ConvTranspose::kind;
  return is_transposed ? terms / std::max<std::int64_t>(groups_of(node), 1) : terms;
}

// The largest number that a code stands for, in steps, wherever zero is among them.
std::int64_t most_steps(const GivenForm& form) {
  const UniformType& type = *form.type;
  return type.zero_points ? type.storage_max - type.storage_min
                          : std::max(type.storage_max, -type.storage_min);
}

// The largest magnitude that a sum of products of codes can have; 0 where the shape of the weight
// does not tell how many there are.
double largest_sum(NodeRef node, const Product& product, const GivenForm& data,
                   const GivenForm& weight) {
  const Shape& shape = node.operand_type(product.weight)->shape;
  const auto terms = is_convolution(product) ? window_terms(node, product, shape)
                                             : matrix_terms(node, product, shape);
  if (!terms) return 0;
  return static_cast<double>(*terms) * static_cast<double>(most_steps(data)) *
         static_cast<double>(most_steps(weight));
}

PendingDequantize follow_product(NodeRef node, const PrecisionRule& rule, Forms forms) {
  const Product& product = *find_product(node);
  const GivenForm* const data = forms[product.data];
  const GivenForm* const weight = forms[product.weight];
  if (data == nullptr) return refuse("its data is float");
  if (weight == nullptr) return refuse("its weight is float");
  if (const char* const why = refuse_data(rule, *data)) return refuse(why);
  const bool is_constant =
      is_known(*node.graph, node.operand(product.weight), [](NodeRef /*maker*/) { return true; });
  const Storages& storages = is_constant ? rule.weight : rule.data;
  if (!storages.contains(weight->storage())) {
    return refuse("the target has no kernel for a weight of this type");
  }
  if (const char* const why = refuse_factors(node)) return refuse(why);
  constexpr double largest_code = INT32_MAX;
  const double largest = largest_sum(node, product, *data, *weight);
  if (largest > largest_code) {
    return refuse("so many products are summed up that they need more than 32 bits");
  }
  const Shape& shape = node.type().shape;
  if (!shape.is_ranked()) return refuse("its rank is not known");
  const auto data_scales = axis_scales(*data);
  const auto weight_scales = axis_scales(*weight);
  if (!data_scales || !weight_scales) return refuse("it has scales of blocks");
  const Channels of_data = data_channels(node, *data_scales);
  if (!of_data.scales) return refuse(of_data.why);
  const Channels of_weight = weight_channels(node, product, *weight_scales, shape.rank());
  if (!of_weight.scales) return refuse(of_weight.why);
  const auto scales =
      combined(*of_data.scales, *of_weight.scales, [](float a, float b) { return a * b; });
  if (!scales) return refuse("its data and its weight have other numbers of channels");
  auto sum = sum_form(*scales, data->type->expressed);
  const Constant* const bias = node.operand_constant(product.bias);
  if (bias != nullptr && product.adds_bias(node) && sum &&
      !fits_sum(*bias, *sum, largest_code - largest)) {
    return refuse("its bias is not finite, or needs more than 32 bits");
  }
  std::vector<std::uint32_t> operands{product.data, product.weight};
  const GivenForm* const coded = product.bias < forms.size() ? forms[product.bias] : nullptr;
  const bool is_of_sum = coded != nullptr && is_sum(*coded) && !coded->type->zero_points &&
                         product.adds_bias(node) &&
                         has_product_scales(coded->type, data->type, weight->type);
  if (is_of_sum) operands.push_back(product.bias);
  return follow_in(std::move(sum), std::move(operands));
}

std::optional<std::uint32_t> bias_of(NodeRef node) {
  const Product& product = *find_product(node);
  const bool has_bias = product.adds_bias(node) && is_real_constant(node, product.bias);
  return has_bias ? std::optional(product.bias) : std::nullopt;
}

}  // namespace

constinit const Family product_family{"product", "i32 in the scale of the products", 2,
                                      follow_product, bias_of};

}  // namespace quadrant::inline v0::low_precision
