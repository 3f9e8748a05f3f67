// Convolutions of all kinds against their definition, and windows against counting.
#include "runtime/ops/convolve.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>
#include <vector>

using namespace quadrant;
using namespace quadrant::interpreted;

namespace {

using Numbers = std::vector<double>;
using Index = std::vector<std::int64_t>;

// Small whole numbers: every sum of their products is exact, whatever its order.
Numbers whole_numbers(std::int64_t count) {
  static std::mt19937 random(1);
  Numbers numbers(static_cast<std::size_t>(count));
  for (double& number : numbers) number = static_cast<double>(random() % 17) - 8;
  return numbers;
}

// The indices below `extents`, one after the other.
bool advance(Index& index, const Index& extents) {
  for (std::size_t axis = index.size(); axis-- > 0;) {
    if (++index[axis] < extents[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

Index extents_of(const Window& window, std::int64_t WindowAxis::* extent) {
  Index extents;
  for (const WindowAxis& axis : window) extents.push_back(axis.*extent);
  return extents;
}

// Calls `body(tap, position, pixel)` for each tap of each position that reads a pixel.
template <class Body>
void for_each_read(const Window& window, Body body) {
  const Index positions = extents_of(window, &WindowAxis::positions);
  const Index taps = extents_of(window, &WindowAxis::taps);
  Index position(window.size(), 0);
  std::int64_t p = 0;
  do {
    Index tap(window.size(), 0);
    std::int64_t t = 0;
    do {
      std::int64_t pixel = 0;
      bool inside = true;
      for (std::size_t axis = 0; axis < window.size(); ++axis) {
        const WindowAxis& along = window[axis];
        const std::int64_t at =
            position[axis] * along.stride + tap[axis] * along.dilation - along.pad_begin;
        inside = inside && at >= 0 && at < along.image;
        pixel = pixel * along.image + at;
      }
      if (inside) body(t, p, pixel);
      ++t;
    } while (advance(tap, taps));
    ++p;
  } while (advance(position, positions));
}

// Calls `body(x's element, weight's element, y's element)` for each product of the convolution.
template <class Body>
void for_each_product(const ConvolutionShape& shape, Body body) {
  const std::int64_t taps = tap_count(shape.window);
  const std::int64_t pixels = pixel_count(shape.window);
  const std::int64_t positions = position_count(shape.window);
  for_each_read(shape.window, [&](std::int64_t tap, std::int64_t position, std::int64_t pixel) {
    for (std::int64_t image = 0; image < shape.batch * shape.groups; ++image) {
      const std::int64_t group = image % shape.groups;
      for (std::int64_t in = 0; in < shape.in_channels; ++in) {
        for (std::int64_t out = 0; out < shape.out_channels; ++out) {
          body(static_cast<std::size_t>((image * shape.in_channels + in) * pixels + pixel),
               static_cast<std::size_t>(
                   ((group * shape.out_channels + out) * shape.in_channels + in) * taps + tap),
               static_cast<std::size_t>((image * shape.out_channels + out) * positions + position));
        }
      }
    }
  });
}

WindowAxis along(std::int64_t image, std::int64_t taps, std::int64_t stride = 1,
                 std::int64_t pad = 0, std::int64_t dilation = 1) {
  WindowAxis axis{.image = image,
                  .taps = taps,
                  .stride = stride,
                  .dilation = dilation,
                  .pad_begin = pad,
                  .pad_end = pad};
  axis.positions = (image + 2 * pad - axis.span()) / stride + 1;
  return axis;
}

void check_convolution(const ConvolutionShape& shape) {
  const std::int64_t groups = shape.batch * shape.groups;
  const Numbers x = whole_numbers(groups * shape.in_channels * pixel_count(shape.window));
  const Numbers weight = whole_numbers(shape.groups * shape.out_channels * shape.in_channels *
                                       tap_count(shape.window));
  Numbers y = whole_numbers(groups * shape.out_channels * position_count(shape.window));
  Numbers wanted = y;
  add_convolution(shape, x.data(), weight.data(), y.data());
  for_each_product(shape, [&](std::size_t from, std::size_t by, std::size_t to) {
    wanted[to] += x[from] * weight[by];
  });
  CHECK((y == wanted));
}

// In and out, and the image and the positions, change places.
void check_transposed_convolution(const ConvolutionShape& shape) {
  const std::int64_t groups = shape.batch * shape.groups;
  const Numbers x = whole_numbers(groups * shape.in_channels * position_count(shape.window));
  const Numbers weight = whole_numbers(shape.groups * shape.out_channels * shape.in_channels *
                                       tap_count(shape.window));
  Numbers y = whole_numbers(groups * shape.out_channels * pixel_count(shape.window));
  Numbers wanted = y;
  add_transposed_convolution(shape, x.data(), weight.data(), y.data());
  ConvolutionShape forward = shape;
  std::swap(forward.in_channels, forward.out_channels);
  for_each_product(forward, [&](std::size_t to, std::size_t by, std::size_t from) {
    wanted[to] += x[from] * weight[by];
  });
  CHECK((y == wanted));
}

// Strides, pads and dilations of each, in one, two and three dimensions.
std::vector<Window> windows() {
  std::vector<Window> all{
      {along(9, 1)},
      {along(9, 3, 1, 1)},
      {along(11, 3, 2, 0, 2)},
      {along(7, 2, 5, 4)},
      {along(5, 5), along(6, 1, 3)},
      {along(8, 3, 1, 1), along(7, 3, 1, 1)},
      {along(8, 3, 2, 1), along(7, 3, 2, 1)},
      {along(9, 2, 3, 2, 3), along(8, 3, 2, 0, 2)},
      {along(1, 1), along(12, 4, 2, 3)},
      {along(3, 2), along(4, 3, 2, 1), along(5, 2, 1, 1, 2)},
      {along(2, 2, 1, 1), along(2, 1), along(2, 2), along(3, 2, 2, 1)},
  };
  return all;
}

}  // namespace

TEST_CASE("convolutions are what their definition says") {
  for (const Window& window : windows()) {
    CAPTURE(fmt::format("{}", fmt::join(extents_of(window, &WindowAxis::image), "x")));
    CAPTURE(fmt::format("{}", fmt::join(extents_of(window, &WindowAxis::taps), "x")));
    check_convolution({.batch = 2, .in_channels = 3, .out_channels = 5, .window = window});
    check_convolution(
        {.batch = 1, .groups = 2, .in_channels = 2, .out_channels = 1, .window = window});
    check_convolution(
        {.batch = 2, .groups = 3, .in_channels = 1, .out_channels = 1, .window = window});
    check_convolution(
        {.batch = 1, .groups = 2, .in_channels = 1, .out_channels = 3, .window = window});
    check_convolution({.batch = 1, .in_channels = 1, .out_channels = 6, .window = window});
    check_transposed_convolution(
        {.batch = 2, .in_channels = 3, .out_channels = 2, .window = window});
    check_transposed_convolution(
        {.batch = 1, .groups = 3, .in_channels = 1, .out_channels = 1, .window = window});
  }
}

TEST_CASE("an image that is unrolled in pieces") {
  SUBCASE("rows of the image") {
    check_convolution({.batch = 1,
                       .in_channels = 120,
                       .out_channels = 2,
                       .window = {along(30, 3, 1, 1), along(31, 3, 1, 1)}});
  }
  SUBCASE("parts of a row") {
    check_convolution({.batch = 1,
                       .in_channels = 150,
                       .out_channels = 2,
                       .window = {along(2, 2, 1, 1), along(700, 4, 1, 2)}});
  }
  SUBCASE("transposed") {
    check_transposed_convolution({.batch = 1,
                                  .in_channels = 2,
                                  .out_channels = 120,
                                  .window = {along(30, 3, 1, 1), along(31, 3, 1, 1)}});
  }
}

TEST_CASE("pads and dilations out of all proportion") {
  constexpr std::int64_t far = 50'000'000;
  // One position, whose last tap reads the pixel; phases would take 200 MB.
  const Window window{{.image = 1, .positions = 1, .taps = 2, .dilation = far, .pad_begin = far}};
  ConvolutionShape shape{.batch = 1, .in_channels = 1, .out_channels = 1, .window = window};
  check_convolution(shape);
}

TEST_CASE("pieces are all positions, in order") {
  const Window window{along(4, 1), along(3, 1), along(5, 1)};
  for (const std::int64_t most : {1, 2, 4, 5, 7, 14, 15, 29, 30, 59, 60, 1000}) {
    CAPTURE(most);
    std::int64_t next = 0;
    for_each_piece(window, most, [&](const Box& box, std::int64_t first) {
      REQUIRE(first == next);
      std::int64_t position = 0;  // the first one of the box
      std::int64_t count = 1;
      for (std::size_t axis = 0; axis < window.size(); ++axis) {
        position = position * window[axis].positions + box[axis].begin;
        count *= box[axis].size();
      }
      CHECK(position == first);
      CHECK(count >= 1);
      CHECK(count <= most);
      next += count;
    });
    CHECK(next == 60);
  }
}
