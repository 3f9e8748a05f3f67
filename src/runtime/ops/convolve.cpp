#include "runtime/ops/convolve.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/gemm.hpp"
#include "runtime/ops/channel_convolution.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Where the extents are those of a tensor, and what is computed from them stays within 63 bits.
Expected<ConvolutionShape> grouped_shape(const KernelCall& call, const Shape& x,
                                         const Shape& weight) {
  const auto groups = call.attribute_or<std::int64_t>("group", 1);
  const auto kernel_shape = call.attribute_or("kernel_shape", std::vector<std::int64_t>());
  const bool fits =
      x.rank() >= 3 && weight.rank() == x.rank() && groups >= 1 && x[1].value() % groups == 0 &&
      (kernel_shape.empty() || std::ranges::equal(kernel_shape, weight.known_extents().subspan(2)));
  if (!fits) {
    return KernelCall::refuse(fmt::format(
        "an image of shape [{}] and a weight of shape [{}] in {} groups{}", to_string(x),
        to_string(weight), groups,
        kernel_shape.empty() ? std::string()
                             : fmt::format(", kernel_shape [{}]", fmt::join(kernel_shape, ", "))));
  }
  return ConvolutionShape{
      .batch = x[0].value(), .groups = groups, .in_channels = x[1].value() / groups};
}

tl::unexpected<Error> wrong_channels(const Shape& x, const Shape& weight, std::int64_t groups) {
  return KernelCall::refuse(
      fmt::format("the channels of an image of shape [{}] and a weight of shape [{}] in {} groups",
                  to_string(x), to_string(weight), groups));
}

// --- as a product of matrices --------------------------------------------------------------------

// Elements of an unrolled image that are made at a time: what a cache holds, but enough columns for
// a product to be worth its beginning, unless that takes too much memory.
std::int64_t columns_of_a_piece(std::int64_t rows) {
  constexpr std::int64_t elements = std::int64_t{1} << 18U;
  constexpr std::int64_t most_elements = std::int64_t{1} << 26U;
  constexpr std::int64_t enough_columns = 256;
  return std::max(
      {elements / rows, std::min(enough_columns, most_elements / rows), std::int64_t{1}});
}

std::int64_t position_count(const Box& box) {
  std::int64_t count = 1;
  for (const IndexRange& range : box) count *= range.size();
  return count;
}

// Sets `columns`, which has a row for each channel and tap and a column for each position of the
// box, to the pixels that these read.
template <class T>
void unroll(const ConvolutionShape& shape, const Box& box, const T* image, std::span<T> columns) {
  TapWalk walk(shape.window, box);
  if (walk.reads_padding()) std::ranges::fill(columns, T{0});
  const std::int64_t pixels = pixel_count(shape.window);
  const std::int64_t channel_length = tap_count(shape.window) * walk.position_count();
  for (std::int64_t channel = 0; channel < shape.in_channels; ++channel) {
    unroll_channel(walk, image + channel * pixels, columns.data() + channel * channel_length);
  }
}

// The other way: adds `columns` to the pixels.
template <class T>
void add_rolled_up(const ConvolutionShape& shape, const Box& box, std::span<const T> columns,
                   T* image) {
  TapWalk walk(shape.window, box);
  const std::int64_t pixels = pixel_count(shape.window);
  const std::int64_t row_length = walk.position_count();
  const std::int64_t channel_length = tap_count(shape.window) * row_length;
  for (std::int64_t channel = 0; channel < shape.out_channels; ++channel) {
    const T* const source = columns.data() + channel * channel_length;
    T* const target = image + channel * pixels;
    walk.for_each_row([&, step = walk.pixel_step()](const TapWalk::Row& row) {
      const T* from = source + row.tap * row_length + row.position;
      T* to = target + row.pixel;
      for (std::int64_t i = 0; i < row.length; ++i) to[i * step] += from[i];
    });
  }
}

// One group of one image. `buffer` is for the unrolled image, and used again.
template <class T>
void convolve_as_product(const ConvolutionShape& shape, const T* x, const T* weight, T* y,
                         std::vector<T>& buffer) {
  const std::int64_t positions = position_count(shape.window);
  const std::int64_t rows = shape.in_channels * tap_count(shape.window);
  const auto matrix = MatrixView<const T>::dense(weight, shape.out_channels, rows);
  if (is_pointwise(shape.window)) {
    add_product(matrix, MatrixView<const T>::dense(x, rows, positions), T{1},
                MatrixView<T>::dense(y, shape.out_channels, positions));
    return;
  }
  for_each_piece(shape.window, columns_of_a_piece(rows), [&](const Box& box, std::int64_t first) {
    const std::int64_t columns = position_count(box);
    buffer.resize(static_cast<std::size_t>(rows * columns));
    unroll<T>(shape, box, x, buffer);
    add_product(matrix, MatrixView<const T>::dense(buffer.data(), rows, columns), T{1},
                MatrixView<T>{y + first, shape.out_channels, columns, positions});
  });
}

template <class T>
void convolve_transposed(const ConvolutionShape& shape, const T* x, const T* weight, T* y,
                         std::vector<T>& buffer) {
  const std::int64_t positions = position_count(shape.window);
  const std::int64_t rows = shape.out_channels * tap_count(shape.window);
  const auto matrix = MatrixView<const T>::dense(weight, rows, shape.in_channels, true);
  for_each_piece(shape.window, columns_of_a_piece(rows), [&](const Box& box, std::int64_t first) {
    const std::int64_t columns = position_count(box);
    buffer.assign(static_cast<std::size_t>(rows * columns), T{0});
    add_product(matrix, MatrixView<const T>{x + first, shape.in_channels, columns, positions}, T{1},
                MatrixView<T>::dense(buffer.data(), rows, columns));
    add_rolled_up<T>(shape, box, buffer, y);
  });
}

// -------------------------------------------------------------------------------------------------

// Calls `body(x, weight, y)` for each group of each image.
template <class T, class Body>
void for_each_group(const ConvolutionShape& shape, std::int64_t x_plane, std::int64_t y_plane,
                    const T* x, const T* weight, T* y, Body body) {
  const std::int64_t weights = shape.out_channels * shape.in_channels * tap_count(shape.window);
  for (std::int64_t image = 0; image < shape.batch; ++image) {
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      body(x, weight + group * weights, y);
      x += shape.in_channels * x_plane;
      y += shape.out_channels * y_plane;
    }
  }
}

bool is_empty(const ConvolutionShape& shape) {
  return shape.batch == 0 || shape.in_channels == 0 || shape.out_channels == 0 ||
         std::ranges::any_of(shape.window, [](const WindowAxis& axis) {
           return axis.image == 0 || axis.positions == 0;
         });
}

Shape with_plane(const ConvolutionShape& shape, std::int64_t WindowAxis::* extent) {
  std::vector<std::int64_t> extents{shape.batch, shape.groups * shape.out_channels};
  for (const WindowAxis& axis : shape.window) extents.push_back(axis.*extent);
  return Shape(extents);
}

}  // namespace

Expected<ConvolutionShape> convolution_shape(const KernelCall& call, const Shape& x,
                                             const Shape& weight) {
  QUADRANT_TRY(ConvolutionShape shape, grouped_shape(call, x, weight));
  if (!surely_equal(weight[1], shape.in_channels) || weight[0].value() % shape.groups != 0) {
    return wrong_channels(x, weight, shape.groups);
  }
  shape.out_channels = weight[0].value() / shape.groups;
  QUADRANT_TRY(shape.window, sliding_window(call, x.known_extents().subspan(2),
                                            weight.known_extents().subspan(2), Excess::stays));
  shape.result = with_plane(shape, &WindowAxis::positions);
  return shape;
}

Expected<ConvolutionShape> transposed_convolution_shape(const KernelCall& call, const Shape& x,
                                                        const Shape& weight) {
  QUADRANT_TRY(ConvolutionShape shape, grouped_shape(call, x, weight));
  if (!surely_equal(weight[0], x[1])) return wrong_channels(x, weight, shape.groups);
  shape.out_channels = weight[1].value();
  QUADRANT_TRY(shape.window, transposed_window(call, x.known_extents().subspan(2),
                                               weight.known_extents().subspan(2)));
  shape.result = with_plane(shape, &WindowAxis::image);
  return shape;
}

Expected<void> check_bias(const Tensor& bias, ElementType element, const ConvolutionShape& shape) {
  const std::int64_t channels = shape.groups * shape.out_channels;
  if (!bias || (bias.element() == element && bias.shape() == Shape{channels})) return {};
  return KernelCall::refuse(fmt::format("a bias of type {} and shape [{}] for {} channels",
                                        to_string(bias.element()), to_string(bias.shape()),
                                        channels));
}

template <class T>
void add_convolution(const ConvolutionShape& shape, const T* x, const T* weight, T* y) {
  if (is_empty(shape)) return;
  const std::int64_t pixels = pixel_count(shape.window);
  const std::int64_t positions = position_count(shape.window);
  // Where each result has one channel to read there is no product of matrices to speak of.
  constexpr std::int64_t few = 4;
  if (shape.in_channels == 1 && shape.out_channels <= few &&
      ChannelConvolution<T>::suits(shape.window)) {
    ChannelConvolution<T> convolution(shape.window);
    for_each_group(
        shape, pixels, positions, x, weight, y, [&](const T* image, const T* filters, T* result) {
          convolution.load(image);
          for (std::int64_t i = 0; i < shape.out_channels; ++i) {
            convolution.add_to(filters + i * tap_count(shape.window), result + i * positions);
          }
        });
    return;
  }
  std::vector<T> buffer;
  for_each_group(shape, pixels, positions, x, weight, y,
                 [&](const T* image, const T* filters, T* result) {
                   convolve_as_product(shape, image, filters, result, buffer);
                 });
}

template <class T>
void add_transposed_convolution(const ConvolutionShape& shape, const T* x, const T* weight, T* y) {
  if (is_empty(shape)) return;
  std::vector<T> buffer;
  for_each_group(shape, position_count(shape.window), pixel_count(shape.window), x, weight, y,
                 [&](const T* image, const T* filters, T* result) {
                   convolve_transposed(shape, image, filters, result, buffer);
                 });
}

template void add_convolution(const ConvolutionShape&, const float*, const float*, float*);
template void add_convolution(const ConvolutionShape&, const double*, const double*, double*);
template void add_transposed_convolution(const ConvolutionShape&, const float*, const float*,
                                         float*);
template void add_transposed_convolution(const ConvolutionShape&, const double*, const double*,
                                         double*);

}  // namespace quadrant::inline v0::interpreted
