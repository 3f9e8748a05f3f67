#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/targets/runtime_profile.hpp"
#include "runtime/ops/convolve.hpp"

namespace quadrant::inline v0 {
namespace {

// Two weights of one output that are no exact pair, by their place in its sum.
struct BadPair {
  std::int32_t output = 0;
  std::array<std::int32_t, 2> places{};
  std::array<std::int8_t, 2> codes{};
};

// What a product reads, as codes: what the real values were made of.
struct Data {
  std::vector<std::int16_t> codes;  // less the zero point
  int zero = 0;                     // the zero point of the bytes that the kernel multiplies
  double scale = 1;
};

struct Weight {
  std::vector<BadPair> pairs;
  std::vector<float> scales;  // one, or one for each output

  [[nodiscard]] double scale(std::int64_t output) const {
    return static_cast<double>(scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(output)]);
  }
};

// The type of the codes that the value was dequantized from.
const UniformType* coded_type(const GraphView& graph, Value value) {
  const Value codes = code_source(graph, value);
  if (codes.is_absent()) return nullptr;
  const TensorType& type = graph.type(codes);
  return type.is_quantized() ? type.uniform().get() : nullptr;
}

// The nearest multiple of the scale: what was dequantized lies on one.
int code_of(float real, float scale) { return static_cast<int>(std::nearbyint(real / scale)); }

Expected<std::optional<Data>> data_of(NodeRef node, std::uint32_t operand, const Tensor& tensor) {
  const UniformType* const type = coded_type(*node.graph, node.operand(operand));
  const bool is_byte = type != nullptr &&
                       (type->storage == ElementType::int8 || type->storage == ElementType::uint8);
  if (!is_byte || type->granularity.kind != Granularity::Kind::tensor) return std::nullopt;
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type->scales));
  Data data{.codes = {}, .zero = 0, .scale = static_cast<double>(scales.front())};
  QUADRANT_TRY(const auto zeros, read_zero_points(*type));
  data.zero = static_cast<int>(zeros.front());
  if (type->storage == ElementType::int8) data.zero += 128;  // as kernels shift them
  for (const float real : tensor.as<float>()) {
    data.codes.push_back(static_cast<std::int16_t>(code_of(real, scales.front())));
  }
  return data;
}

// The axis of the value that its constant's axis `axis` became.
std::optional<std::int64_t> axis_at(const GraphView& graph, Value value, std::int64_t axis) {
  for (std::int64_t i = 0; i < graph.type(value).shape.rank(); ++i) {
    if (order_at_constant(graph, value, {{i}}).along == std::vector<std::int64_t>{axis}) return i;
  }
  return std::nullopt;
}

// `outputs`: the axis that the sum keeps. All others, in order, are the places in it.
Expected<std::optional<Weight>> weight_of(NodeRef node, std::uint32_t operand, const Tensor& tensor,
                                          std::int64_t outputs, PairingRuntimes runtimes) {
  const GraphView& graph = *node.graph;
  const Value value = node.operand(operand);
  const UniformType* const type = coded_type(graph, value);
  const auto orders = pair_orders(node, operand, tensor.shape(), runtimes);
  if (type == nullptr || type->storage != ElementType::int8 || orders.empty() ||
      type->granularity.kind == Granularity::Kind::block ||
      graph.constant(code_source(graph, value).node) == nullptr ||
      tensor.element_count() > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  Weight weight;
  QUADRANT_TRY(weight.scales, read_scales(type->scales));
  if (type->granularity.kind == Granularity::Kind::axis &&
      axis_at(graph, value, type->granularity.axis) != outputs) {
    return std::nullopt;
  }
  QUADRANT_TRY(const std::vector<std::int64_t> zeros, read_zero_points(*type));
  const std::int64_t stride = tensor.shape().strides()[static_cast<std::size_t>(outputs)];
  const std::int64_t count = tensor.extent(outputs);
  const auto output_of = [&](std::size_t i) {
    return static_cast<std::int64_t>(i) / stride % count;
  };
  const auto place_of = [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    return at / (stride * count) * stride + at % stride;
  };
  std::vector<std::int8_t> codes;
  for (const float real : tensor.as<float>()) {
    const auto group = static_cast<std::size_t>(zeros.size() == 1 ? 0 : output_of(codes.size()));
    codes.push_back(static_cast<std::int8_t>(code_of(real, weight.scales[group]) + zeros[group]));
  }
  // Of OpenVINO's two kernels for groups, the one that was seen with three channels in each.
  QUADRANT_CHECK(for_each_inexact_pair(
      Constant::from_vector(ElementType::int8, tensor.shape(), codes), orders.back(),
      [&](std::size_t first, std::size_t second) {
        weight.pairs.push_back({.output = static_cast<std::int32_t>(output_of(first)),
                                .places = {static_cast<std::int32_t>(place_of(first)),
                                           static_cast<std::int32_t>(place_of(second))},
                                .codes = {codes[first], codes[second]}});
      }));
  return weight;
}

// What the sum of a pair loses: data are bytes without a sign.
std::int64_t lost(const BadPair& pair, int first, int second) {
  const std::int64_t sum =
      std::int64_t{first} * pair.codes[0] + std::int64_t{second} * pair.codes[1];
  return std::clamp<std::int64_t>(sum, -32768, 32767) - sum;
}

// `[.., outputs]` of `[.., K]`, one of whose axes may come first instead.
struct Matrices {
  std::int64_t rows = 0;
  std::int64_t row_stride = 0;    // of the data
  std::int64_t place_stride = 1;  // of the data
  std::int64_t outputs = 0;
};

void add_lost(const Data& data, const Weight& weight, const Matrices& of, double factor,
              std::span<float> result) {
  for (const BadPair& pair : weight.pairs) {
    const double scale = factor * data.scale * weight.scale(pair.output);
    for (std::int64_t row = 0; row < of.rows; ++row) {
      const auto byte = [&](std::size_t i) {
        const std::int64_t at = row * of.row_stride + pair.places[i] * of.place_stride;
        return data.codes[static_cast<std::size_t>(at)] + data.zero;
      };
      const std::int64_t difference = lost(pair, byte(0), byte(1));
      if (difference == 0) continue;
      result[static_cast<std::size_t>(row * of.outputs + pair.output)] +=
          static_cast<float>(scale * static_cast<double>(difference));
    }
  }
}

// The pixel that each tap reads at each position; -1 in the padding.
std::vector<std::vector<std::int32_t>> pixels_by_tap(const interpreted::Window& window) {
  std::vector<std::vector<std::int32_t>> pixels(
      static_cast<std::size_t>(interpreted::tap_count(window)));
  const std::int64_t positions = interpreted::position_count(window);
  for (std::size_t tap = 0; tap < pixels.size(); ++tap) {
    for (std::int64_t position = 0; position < positions; ++position) {
      std::int64_t pixel = 0;
      std::int64_t stride = 1;
      auto tap_left = static_cast<std::int64_t>(tap);
      std::int64_t position_left = position;
      for (std::size_t i = window.size(); i-- > 0;) {
        const auto& axis = window[i];
        const std::int64_t at = axis.at(position_left % axis.positions, tap_left % axis.taps);
        if (at < 0 || at >= axis.image) pixel = -1;
        if (pixel >= 0) pixel += at * stride;
        stride *= axis.image;
        tap_left /= axis.taps;
        position_left /= axis.positions;
      }
      pixels[tap].push_back(static_cast<std::int32_t>(pixel));
    }
  }
  return pixels;
}

void add_lost(const Data& data, const Weight& weight, const interpreted::ConvolutionShape& shape,
              std::span<float> result) {
  const std::int64_t plane = interpreted::pixel_count(shape.window);
  if (result.empty() || plane > std::numeric_limits<std::int32_t>::max()) return;
  const auto pixels = pixels_by_tap(shape.window);
  const auto taps = static_cast<std::int64_t>(pixels.size());
  const std::int64_t positions = interpreted::position_count(shape.window);
  const std::int64_t channels = shape.groups * shape.in_channels;
  const std::int64_t outputs = shape.groups * shape.out_channels;
  for (std::int64_t image = 0; image < shape.batch; ++image) {
    for (const BadPair& pair : weight.pairs) {
      const double scale = data.scale * weight.scale(pair.output);
      const std::int64_t first_channel = pair.output / shape.out_channels * shape.in_channels;
      const auto byte = [&](std::size_t i, std::int64_t position) {
        const std::int64_t channel = image * channels + first_channel + pair.places[i] / taps;
        const std::int64_t pixel = pixels[static_cast<std::size_t>(pair.places[i] % taps)]
                                         [static_cast<std::size_t>(position)];
        const int code =
            pixel < 0 ? 0 : data.codes[static_cast<std::size_t>(channel * plane + pixel)];
        return code + data.zero;
      };
      float* const row =
          &result[static_cast<std::size_t>((image * outputs + pair.output) * positions)];
      for (std::int64_t position = 0; position < positions; ++position) {
        const std::int64_t difference = lost(pair, byte(0, position), byte(1, position));
        row[position] += static_cast<float>(scale * static_cast<double>(difference));
      }
    }
  }
}

Expected<void> add_lost_of(const KernelCall& call, const Product& product, Tensor& result,
                           PairingRuntimes runtimes) {
  const Tensor& x = call.operand(product.data);
  const Tensor& w = call.operand(product.weight);
  if (x.element() != ElementType::float32 || w.element() != ElementType::float32) return {};
  const bool is_image = product.kind == ops::Conv::kind;
  if (!is_image && w.rank() != 2) return {};
  if (runtimes.onnxruntime && !is_on_codes_in_onnxruntime(call.node())) return {};
  const std::int64_t outputs = product.channel(call.node(), w.shape()).value_or(0);
  QUADRANT_TRY(const auto weight, weight_of(call.node(), product.weight, w, outputs, runtimes));
  if (!weight || weight->pairs.empty()) return {};
  QUADRANT_TRY(const auto data, data_of(call.node(), product.data, x));
  if (!data) return {};
  Tensor changed = Tensor::from_bytes(result.element(), result.shape(), result.bytes());
  const std::span<float> values = changed.fill<float>();
  if (is_image) {
    QUADRANT_TRY(const auto shape, interpreted::convolution_shape(call, x.shape(), w.shape()));
    add_lost(*data, *weight, shape, values);
  } else {
    const std::int64_t sum = w.extent(1 - outputs);
    const bool is_turned =
        call.node().kind() == ops::Gemm::kind && ops::Gemm{call.node()}.trans_a();
    const std::int64_t rows = sum == 0 ? 0 : x.element_count() / sum;
    const Matrices of{.rows = rows,
                      .row_stride = is_turned ? 1 : sum,
                      .place_stride = is_turned ? rows : 1,
                      .outputs = w.extent(outputs)};
    add_lost(*data, *weight, of, call.attribute_or("alpha", 1.0), values);
  }
  result = std::move(changed);
  return {};
}

template <bool is_onnxruntime>
Expected<Tensors> product_kernel(const KernelCall& call) {
  const auto kernels = Interpreter::kernels();
  const auto own = std::ranges::find(kernels, call.node().kind(), &KernelEntry::kind);
  QUADRANT_TRY(Tensors results, own->kernel(call));
  const PairingRuntimes runtimes{.onnxruntime = is_onnxruntime, .openvino = !is_onnxruntime};
  QUADRANT_CHECK(add_lost_of(call, *find_product(call.node()), results.front(), runtimes));
  return results;
}

}  // namespace

std::vector<KernelEntry> paired_sum_kernels(PairedSums whose) {
  constexpr std::array kinds{ops::Conv::kind, ops::Gemm::kind, ops::MatMul::kind, ops::Linear::kind,
                             ops::Addmm::kind};
  const Kernel kernel =
      whose == PairedSums::onnxruntime ? product_kernel<true> : product_kernel<false>;
  std::vector<KernelEntry> entries;
  entries.reserve(kinds.size());
  for (const std::string_view kind : kinds) {
    entries.push_back({kind, kernel, HalfFloats::widened});
  }
  return entries;
}

}  // namespace quadrant::inline v0
