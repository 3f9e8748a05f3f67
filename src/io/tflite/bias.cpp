#include "io/tflite/bias.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/tflite/failure.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// TFLite's kernels take a bias for exact if its scale is that near to the product's.
constexpr double scale_tolerance = 1e-6;

std::vector<double> wanted_scales(const TensorType& data, const TensorType& weights) {
  value_of(product_scales(data.quantization, weights.quantization));  // float32 has to hold them
  const std::vector<float> of_data = value_of(read_scales(data.quantization));
  const std::vector<float> of_weights = value_of(read_scales(weights.quantization));
  std::vector<double> wanted;
  wanted.reserve(of_weights.size());
  for (const float scale : of_weights) {
    wanted.push_back(static_cast<double>(of_data.front()) * static_cast<double>(scale));
  }
  return wanted;
}

bool is_in_scales(const TensorType& bias, ElementType element, const std::vector<double>& wanted) {
  if (!bias.is_quantized() || bias.element != element) return false;
  const std::vector<float> scales = value_of(read_scales(bias.quantization));
  return std::ranges::equal(scales, wanted, [](float scale, double other) {
    return std::abs(static_cast<double>(scale) - other) <= scale_tolerance * other;
  });
}

template <class Code>
Constant codes_of(ElementType element, const std::vector<double>& reals,
                  const std::vector<double>& scales) {
  std::vector<Code> codes;
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const double code = std::nearbyint(reals[i] / scales[scales.size() == 1 ? 0 : i]);
    constexpr auto largest = static_cast<double>(std::numeric_limits<std::int32_t>::max());
    codes.push_back(static_cast<Code>(std::clamp(code, -largest, largest)));
  }
  return Constant::from_values(element, Shape{static_cast<std::int64_t>(codes.size())},
                               std::span<const Code>(codes));
}

}  // namespace

TensorId bias_of(Lowering& lowering, const NodeRef& node, Value data, Value weights, Value bias,
                 std::int64_t channels) {
  const TensorType& data_type = lowering.type(data);
  constexpr std::int64_t most_channels = std::int64_t{1} << 24U;
  if (channels < 1 || channels > most_channels) {
    impossible(fmt::format("{} channels", channels));
  }
  if (!bias.is_absent() && lowering.ranked(bias).element_count() != channels) {
    impossible("a bias that is not one value for each channel");
  }
  if (!data_type.is_quantized()) {
    if (!bias.is_absent()) return lowering.plain(bias);
    const std::vector<float> zeros(static_cast<std::size_t>(channels), 0.0F);
    return lowering.model().add_constant(
        lowering.name(node, "bias"),
        Constant::from_values(ElementType::float32, Shape{channels}, std::span<const float>(zeros)),
        nullptr, plain_axes(1));
  }
  const bool wide = data_type.element == ElementType::int16;
  const ElementType element = wide ? ElementType::int64 : ElementType::int32;
  const std::vector<double> scales = wanted_scales(data_type, lowering.type(weights));
  if (scales.size() != 1 && scales.size() != static_cast<std::size_t>(channels)) {
    impossible("scales of weights along another axis than that of the results");
  }
  if (!bias.is_absent()) {
    if (is_in_scales(lowering.type(bias), element, scales)) return lowering.plain(bias);
    if (!lowering.type(bias).is_quantized() && is_integer(lowering.type(bias).element)) {
      impossible("a bias of plain integers beside codes");
    }
    if (!lowering.is_free(bias)) impossible("a bias that is computed, with other scales");
    lowering.changed(node, "the bias is quantized with the scales of data and weights");
  }
  const std::vector<double> reals =
      bias.is_absent() ? std::vector<double>(static_cast<std::size_t>(channels), 0.0)
                       : lowering.exact_reals(bias);
  const Constant codes = wide ? codes_of<std::int64_t>(element, reals, scales)
                              : codes_of<std::int32_t>(element, reals, scales);
  auto type = std::make_shared<UniformType>();
  type->storage = element;
  type->storage_min = std::numeric_limits<std::int32_t>::min();
  type->storage_max = std::numeric_limits<std::int32_t>::max();
  const std::vector<float> single(scales.begin(), scales.end());
  if (scales.size() == 1) {
    type->scales = make_scales(ElementType::float32, Shape::scalar(), single);
  } else {
    type->granularity = Granularity::per_axis(0);
    type->scales = make_scales(ElementType::float32, Shape{channels}, single);
  }
  const std::string name = bias.is_absent() ? lowering.name(node, "bias")
                                            : std::string(lowering.graph().value_name(bias));
  return lowering.model().add_constant(name, codes, type, plain_axes(1));
}

}  // namespace quadrant::inline v0::tflite
