// Convolutions of codes.
#include <algorithm>

#include "ir/ops/codes.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/codes.hpp"
#include "runtime/ops/convolve.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// X and W of a convolution, with their zero points, which may be absent.
struct Codes {
  const Tensor& x;
  const Tensor& x_zero_point;
  const Tensor& weight;
  const Tensor& weight_zero_point;
};

// The sums of products of the codes less their zero points, as float64: padding is what is 0 then.
// A list of a weight's parameters has one for each filter. The bias is of int32, or absent.
Expected<Tensor> sums_of_products(const KernelCall& call, const Codes& codes, const Tensor& bias) {
  const auto& [x, x_zero_point, weight, weight_zero_point] = codes;
  QUADRANT_TRY(const ConvolutionShape shape, convolution_shape(call, x.shape(), weight.shape()));
  QUADRANT_CHECK(check_bias(bias, ElementType::int32, shape));
  QUADRANT_TRY(const Tensor image, centered(x, x_zero_point));
  QUADRANT_TRY(const Tensor filters,
               centered(weight, along_axis(weight_zero_point, weight.rank() - 1)));
  QUADRANT_TRY(Tensor y, Tensor::make(ElementType::float64, shape.result));
  for_each_channel(shape, y.fill<double>(), [&](std::span<double> channel, std::size_t index) {
    std::ranges::fill(channel, bias ? bias.as<std::int32_t>()[index] : 0);
  });
  add_convolution(shape, image.as<double>().data(), filters.as<double>().data(),
                  y.fill<double>().data());
  return y;
}

Expected<Tensors> conv_integer(const KernelCall& call) {
  const Codes codes{call.operand(0), call.operand(2), call.operand(1), call.operand(3)};
  QUADRANT_TRY(const Tensor sums, sums_of_products(call, codes, Tensor()));
  QUADRANT_TRY(Tensor y, to_int32(sums));
  return Tensors{std::move(y)};
}

Expected<Tensors> qlinear_conv(const KernelCall& call) {
  const Codes codes{call.operand(0), call.operand(2), call.operand(3), call.operand(5)};
  QUADRANT_TRY(const Tensor sums, sums_of_products(call, codes, call.operand(8)));
  const std::int64_t axes_behind_channels = sums.rank() - 2;
  QUADRANT_TRY(Tensor y,
               requantized(sums, {.a_scale = call.operand(1),
                                  .b_scale = along_axis(call.operand(4), axes_behind_channels),
                                  .y_scale = call.operand(6),
                                  .y_zero_point = call.operand(7)}));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_integer_conv() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::ConvInteger::kind, conv_integer}, {ops::QLinearConv::kind, qlinear_conv}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
