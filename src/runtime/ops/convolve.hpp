// What convolutions are made of.
#pragma once

#include "runtime/ops/window.hpp"

namespace quadrant::inline v0::interpreted {

/// The extents of a convolution of images `[batch, groups * in_channels, pixels...]` with a weight
/// `[groups * out_channels, in_channels, taps...]` to `[batch, groups * out_channels,
/// positions...]`.
struct ConvolutionShape {
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t in_channels = 0;   ///< of one group
  std::int64_t out_channels = 0;  ///< of one group
  Window window;
  Shape result;
};

/// Refuses what does not fit.
[[nodiscard]] Expected<ConvolutionShape> convolution_shape(const KernelCall& call, const Shape& x,
                                                           const Shape& weight);
/// For `x` `[batch, groups * in_channels, positions...]` and a weight `[groups * in_channels,
/// out_channels, taps...]`, with `[batch, groups * out_channels, pixels...]` as the result.
[[nodiscard]] Expected<ConvolutionShape> transposed_convolution_shape(const KernelCall& call,
                                                                      const Shape& x,
                                                                      const Shape& weight);

/// Refuses a bias that is not one number of the type for each channel of the result; an absent one
/// is fine.
[[nodiscard]] Expected<void> check_bias(const Tensor& bias, ElementType element,
                                        const ConvolutionShape& shape);

/// Calls `body(part, channel)` for each channel of each image of `result`.
template <class T, class Body>
void for_each_channel(const ConvolutionShape& shape, std::span<T> result, Body body) {
  const auto channels = static_cast<std::size_t>(shape.groups * shape.out_channels);
  const std::size_t parts = static_cast<std::size_t>(shape.batch) * channels;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t size = result.size() / parts;
    body(result.subspan(part * size, size), part % channels);
  }
}

/// Adds the convolution of `x` with `weight` to `y`. T: float, double.
template <class T>
void add_convolution(const ConvolutionShape& shape, const T* x, const T* weight, T* y);
template <class T>
void add_transposed_convolution(const ConvolutionShape& shape, const T* x, const T* weight, T* y);

/// The kernel of `conv`: FusedConv is that with an activation.
[[nodiscard]] Expected<Tensors> conv(const KernelCall& call);

}  // namespace quadrant::inline v0::interpreted
