#include "qdq_fusion/bias.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

// The constant that the operand is, as real numbers or as the codes of a `dequantize`; null where
// it is computed.
const Constant* constant_of(NodeRef node, std::uint32_t operand, TensorType& type) {
  const Value value = node.operand(operand);
  if (value.is_absent()) return nullptr;
  const NodeRef maker{node.graph, value.node};
  const bool is_dequantized = maker.kind() == ops::Dequantize::kind;
  const Value source = is_dequantized ? maker.operand(0) : value;
  type = node.graph->type(source);
  return node.graph->constant(source.node);
}

// Along the channels and no other axis: [N], [1, N], or one number for all.
bool is_channelwise(const Shape& shape, std::int64_t channels) {
  const auto count = shape.element_count();
  if (!count) return false;
  if (*count == 1) return true;
  return *count == channels && shape.rank() > 0 && surely_equal(shape[shape.rank() - 1], channels);
}

Expected<std::vector<double>> real_bias(const Constant& constant, const TensorType& type) {
  if (!type.is_quantized()) return read_reals(constant);
  if (type.quantization.other()) {
    QUADRANT_TRY(const Constant reals, dequantized(constant, type.quantization));
    return read_reals(reals);
  }
  QUADRANT_TRY(const auto scales, read_scales(type.uniform()->scales));
  QUADRANT_TRY(auto codes, read_integers(constant, constant.element_count()));
  QUADRANT_TRY(const auto zero_points, read_zero_points(*type.uniform()));
  std::vector<double> real;
  real.reserve(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t group = scales.size() == 1 ? 0 : i;
    real.push_back(static_cast<double>(scales[group]) *
                   static_cast<double>(codes[i] - zero_points[group]));
  }
  return real;
}

struct Encoded {
  std::vector<std::int32_t> codes;
  std::vector<float> scales;
};

// Codes of 32 bits, an element for each channel. A weight with one scale has a bias with one.
Expected<Encoded> encoded(const std::vector<double>& real, std::vector<float> scales,
                          std::int64_t channels) {
  Encoded bias{{}, std::move(scales)};
  for (std::size_t i = 0; i < static_cast<std::size_t>(channels); ++i) {
    const double value = real[real.size() == 1 ? 0 : i];
    const double scale = bias.scales[bias.scales.size() == 1 ? 0 : i];
    const double code = std::nearbyint(value / scale);
    if (!(std::abs(code) <= std::numeric_limits<std::int32_t>::max())) {
      return fail(ErrorCode::impossible,
                  fmt::format("the bias of channel {} is {}, which is more than 32 bits in the "
                              "scale of the products, {}",
                              i, value, scale));
    }
    bias.codes.push_back(static_cast<std::int32_t>(code));
  }
  return bias;
}

// A type of codes of 32 bits along the only axis.
std::shared_ptr<const UniformType> bias_type(const std::vector<float>& scales) {
  auto type = std::make_shared<UniformType>();
  const IntegerRange range = integer_range(ElementType::int32).value_or(IntegerRange{});
  type->storage = ElementType::int32;
  type->storage_min = range.min;
  type->storage_max = range.max;
  const bool is_one = scales.size() == 1;
  type->granularity = is_one ? Granularity::per_tensor() : Granularity::per_axis(0);
  const Shape shape =
      is_one ? Shape(std::vector<std::int64_t>{}) : Shape{static_cast<std::int64_t>(scales.size())};
  type->scales = make_scales(ElementType::float32, shape, scales);
  return type;
}

}  // namespace

BiasReading read_bias(NodeRef node, const Product& product, std::int64_t channels,
                      const GivenForm& data, const GivenForm& weight) {
  using Kind = BiasReading::Kind;
  if (node.operand(product.bias).is_absent()) return {Kind::none};
  if (channels < 1) return {Kind::refused, {}, "it is not known how many channels there are"};
  // One number for all of them is written out, and a file can state any shape.
  constexpr std::int64_t most_channels = std::int64_t{1} << 24U;
  if (channels > most_channels) return {Kind::refused, {}, "its bias has too many channels"};
  const NodeRef maker{node.graph, node.operand(product.bias).node};
  const TensorType* const codes =
      maker.kind() == ops::Dequantize::kind ? maker.operand_type(0) : nullptr;
  const bool is_row = codes != nullptr && codes->is_quantized() && codes->shape == Shape{channels};
  // Sums of products of 16 bits have a bias of 64, which only constants can get.
  const bool is_wide = data.storage() == ElementType::int16;
  if (is_row && !is_wide && codes->element == ElementType::int32) {
    const auto form = GivenForm::of(codes->uniform());
    if (form && !form->type->zero_points &&
        has_product_scales(form->type, data.type, weight.type)) {
      return {Kind::codes, form};
    }
  }
  TensorType type;
  if (constant_of(node, product.bias, type) == nullptr) {
    return {Kind::refused, {}, "its bias is computed, and not in the scale of the products"};
  }
  if (!is_channelwise(type.shape, channels)) {
    return {Kind::refused, {}, "its bias is not one number for each channel"};
  }
  const bool is_of_blocks =
      type.uniform() && type.uniform()->granularity.kind == Granularity::Kind::block;
  if (is_of_blocks) return {Kind::refused, {}, "its bias has scales of blocks"};
  // Small: one number for each channel.
  const auto real = real_bias(*constant_of(node, product.bias, type), type);
  const auto scales = product_scales(data.type, weight.type);
  if (!real) return {Kind::refused, {}, "its bias cannot be read"};
  if (!scales) return {Kind::refused, {}, "float32 does not hold the scales of its products"};
  if (!encoded(*real, *scales, channels)) {
    return {Kind::refused, {}, "its bias needs more than 32 bits"};
  }
  return {Kind::constant};
}

Expected<void> encode_bias(NodeRef node, const Product& product, std::int64_t channels,
                           RewriteContext& context) {
  const Value operand = node.operand(product.bias);
  if (operand.is_absent() || context.quantization(operand) != nullptr) return {};
  TensorType type;
  const Constant* const constant = constant_of(node, product.bias, type);
  QUADRANT_TRY(const auto real, real_bias(*constant, type));
  QUADRANT_TRY(auto scales, product_scales(context.quantization(node.operand(product.data)),
                                           context.quantization(node.operand(product.weight))));
  QUADRANT_TRY(const Encoded bias, encoded(real, std::move(scales), channels));
  const std::string name(context.view().value_name(operand));
  QUADRANT_TRY(const Value codes,
               context.emit_constant(name + "_quantized",
                                     Constant::from_values<std::int32_t>(
                                         ElementType::int32, Shape{channels}, bias.codes),
                                     bias_type(bias.scales)));
  return context.graph().set_operand(node.id, product.bias, codes);
}

}  // namespace quadrant::inline v0::qdq_fusion
