// Convolutions of real numbers.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/convolve.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// A tensor that is filled with a bias for each channel, or with zeros where that is absent.
template <class T>
Expected<Tensor> filled_with_bias(const Tensor& bias, ElementType element,
                                  const ConvolutionShape& shape) {
  QUADRANT_CHECK(check_bias(bias, element, shape));
  QUADRANT_TRY(Tensor y, Tensor::make(element, shape.result));
  for_each_channel(shape, y.fill<T>(), [&](std::span<T> channel, std::size_t index) {
    std::ranges::fill(channel, bias ? bias.as<T>()[index] : T{0});
  });
  return y;
}

using ShapeOf = Expected<ConvolutionShape> (*)(const KernelCall&, const Shape&, const Shape&);

// X, W and perhaps B, whichever way the window goes.
template <class Body>
Expected<Tensors> convolve(const KernelCall& call, ShapeOf shape_of, Body body) {
  const Tensor& x = call.operand(0);
  const Tensor& weight = call.operand(1);
  if (!x || weight.element() != x.element()) {
    return KernelCall::refuse(fmt::format("operands of types {} and {}", to_string(x.element()),
                                          to_string(weight.element())));
  }
  QUADRANT_TRY(const ConvolutionShape shape, shape_of(call, x.shape(), weight.shape()));
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, filled_with_bias<T>(call.operand(2), x.element(), shape));
    body(shape, x.as<T>().data(), weight.as<T>().data(), y.fill<T>().data());
    return Tensors{std::move(y)};
  });
}

Expected<Tensors> conv_transpose(const KernelCall& call) {
  return convolve(call, transposed_convolution_shape,
                  []<class T>(const ConvolutionShape& shape, const T* x, const T* weight, T* y) {
                    add_transposed_convolution(shape, x, weight, y);
                  });
}

}  // namespace

Expected<Tensors> conv(const KernelCall& call) {
  return convolve(call, convolution_shape,
                  []<class T>(const ConvolutionShape& shape, const T* x, const T* weight, T* y) {
                    add_convolution(shape, x, weight, y);
                  });
}

std::span<const KernelEntry> kernels::in_conv() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{"conv", conv, HalfFloats::widened},
                                  {"conv_transpose", conv_transpose, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
