// Counted work, against loops that carry the products out.
#include "ir/work.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "build.hpp"
#include "ir/shape_inference.hpp"
#include "quadrant/ir/ops.hpp"

using namespace quadrant;

namespace {

using Extents = std::vector<std::int64_t>;

constexpr Extent unknown = Extent::open();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint32_t seed) : engine_(seed) {}
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool coin() { return number(0, 1) == 1; }

 private:
  std::mt19937 engine_;
};

struct Counted {
  Graph graph;
  NodeId node;

  explicit Counted(std::string_view kind, const std::vector<Shape>& operands,
                   Attributes attributes = {}) {
    std::vector<Value> values;
    for (const Shape& shape : operands) values.push_back(graph.add_input("x", build::f32(shape)));
    node = build::add(graph, std::string(kind), std::move(values), build::f32(Shape()),
                      std::move(attributes))
               .node;
    const auto inferred = infer_shapes(graph);
    REQUIRE_MESSAGE(inferred, (inferred ? "" : to_string(inferred.error())));
  }

  [[nodiscard]] std::int64_t work() const { return multiply_accumulates(graph.ref(node)); }
};

struct Window {
  std::int64_t groups = 1;
  std::int64_t group_inputs = 1;
  std::int64_t group_outputs = 1;
  std::int64_t batch = 1;
  Extents input;
  Extents kernel;
  Extents strides;
  Extents dilations;
  std::int64_t pad = 0;

  [[nodiscard]] Attributes attributes() const {
    return {{"group", groups},
            {"strides", strides},
            {"dilations", dilations},
            {"pads", Extents(2 * input.size(), pad)}};
  }
  // Of the window, all dilated elements included.
  [[nodiscard]] std::int64_t reach(std::size_t axis) const {
    return dilations[axis] * (kernel[axis] - 1) + 1;
  }
};

Window random_window(RandomNumbers& random) {
  Window window{.groups = random.number(1, 3),
                .group_inputs = random.number(1, 3),
                .group_outputs = random.number(1, 3),
                .batch = random.number(1, 2),
                .input = {},
                .kernel = {},
                .strides = {},
                .dilations = {},
                .pad = random.number(0, 1)};
  const std::int64_t axes = random.number(1, 3);
  for (std::int64_t i = 0; i < axes; ++i) {
    window.kernel.push_back(random.number(1, 3));
    window.strides.push_back(random.number(1, 3));
    window.dilations.push_back(random.number(1, 2));
    window.input.push_back(random.number(window.reach(window.input.size()), 8));
  }
  return window;
}

Shape with_channels(std::int64_t first, std::int64_t second, const Extents& spatial) {
  Extents extents{first, second};
  extents.insert(extents.end(), spatial.begin(), spatial.end());
  return Shape(extents);
}

// Products of a convolution, one window element after the other. What lies in the padding counts:
// it is multiplied, by zero.
std::int64_t count_conv(const Window& window) {
  std::int64_t places = 1;
  for (std::size_t axis = 0; axis < window.input.size(); ++axis) {
    std::int64_t along = 0;
    for (std::int64_t at = -window.pad; at + window.reach(axis) <= window.input[axis] + window.pad;
         at += window.strides[axis]) {
      for (std::int64_t k = 0; k < window.kernel[axis]; ++k) ++along;
    }
    places *= along;
  }
  std::int64_t products = 0;
  for (std::int64_t n = 0; n < window.batch; ++n) {
    for (std::int64_t g = 0; g < window.groups; ++g) {
      for (std::int64_t o = 0; o < window.group_outputs; ++o) {
        for (std::int64_t i = 0; i < window.group_inputs; ++i) products += places;
      }
    }
  }
  return products;
}

// Each element of the data is spread over a window of each channel of its group.
std::int64_t count_conv_transpose(const Window& window) {
  std::int64_t products = 0;
  std::int64_t positions = 1;
  for (const std::int64_t extent : window.input) positions *= extent;
  for (std::int64_t at = 0; at < window.batch * window.groups * window.group_inputs * positions;
       ++at) {
    for (std::int64_t o = 0; o < window.group_outputs; ++o) {
      std::int64_t spread = 1;
      for (const std::int64_t extent : window.kernel) spread *= extent;
      products += spread;
    }
  }
  return products;
}

}  // namespace

TEST_CASE("work: the documentation's convolution") {
  const Counted conv("conv", {{1, 3, 32, 32}, {16, 3, 3, 3}},
                     {{"pads", std::vector<std::int64_t>(4, 1)}});
  CHECK(conv.work() == 16 * 32 * 32 * 27);
}

TEST_CASE("work: convolutions with groups, strides, dilations and padding") {
  RandomNumbers random(20261122);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Window window = random_window(random);
    const std::int64_t inputs = window.groups * window.group_inputs;
    const std::int64_t outputs = window.groups * window.group_outputs;
    const Counted conv("conv",
                       {with_channels(window.batch, inputs, window.input),
                        with_channels(outputs, window.group_inputs, window.kernel),
                        {outputs}},
                       window.attributes());
    CHECK(conv.work() == count_conv(window));
    Window unpadded = window;
    unpadded.pad = 0;  // what it would take off may be all there is
    const Counted transposed("conv_transpose",
                             {with_channels(window.batch, inputs, window.input),
                              with_channels(inputs, window.group_outputs, window.kernel)},
                             unpadded.attributes());
    CHECK(transposed.work() == count_conv_transpose(window));
  }
}

TEST_CASE("work: matrix products that broadcast") {
  RandomNumbers random(7);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const std::int64_t rows = random.number(1, 4);
    const std::int64_t sum = random.number(1, 5);
    const std::int64_t columns = random.number(1, 4);
    Extents first;
    Extents second;
    std::int64_t products = rows * sum * columns;
    const std::int64_t leading = random.number(0, 2);
    for (std::int64_t i = 0; i < leading; ++i) {
      const std::int64_t extent = random.number(1, 3);
      products *= extent;
      const std::int64_t who = random.number(0, 2);  // both, or one that is repeated
      first.push_back(who == 1 ? 1 : extent);
      second.push_back(who == 2 ? 1 : extent);
    }
    if (random.coin() && std::ranges::all_of(first, [](std::int64_t e) { return e == 1; })) {
      first.clear();
    }
    first.insert(first.end(), {rows, sum});
    second.insert(second.end(), {sum, columns});
    CHECK(Counted("matmul", {Shape(first), Shape(second)}).work() == products);
  }
  CHECK(Counted("matmul", {{5}, {5}}).work() == 5);
  CHECK(Counted("matmul", {{5}, {2, 5, 3}}).work() == 30);
  CHECK(Counted("matmul", {{2, 4, 5}, {5}}).work() == 40);
  CHECK(Counted("matmul", {{2, 0}, {0, 3}}).work() == 0);
}

TEST_CASE("work: the other matrix products") {
  RandomNumbers random(11);
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const std::int64_t m = random.number(1, 5);
    const std::int64_t k = random.number(1, 5);
    const std::int64_t n = random.number(1, 5);
    const std::int64_t b = random.number(1, 3);
    std::int64_t products = 0;
    for (std::int64_t at = 0; at < m * n; ++at) products += k;
    for (const std::int64_t a_is_turned : {0, 1}) {
      for (const std::int64_t b_is_turned : {0, 1}) {
        const Counted gemm("gemm",
                           {a_is_turned != 0 ? Shape{k, m} : Shape{m, k},
                            b_is_turned != 0 ? Shape{n, k} : Shape{k, n},
                            {n}},
                           {{"transA", a_is_turned}, {"transB", b_is_turned}});
        CHECK(gemm.work() == products);
      }
    }
    CHECK(Counted("linear", {{b, m, k}, {n, k}, {n}}).work() == b * products);
    CHECK(Counted("addmm", {{n}, {m, k}, {k, n}}).work() == products);
    CHECK(Counted("batch_matmul", {{b, m, k}, {b, k, n}}).work() == b * products);
    CHECK(Counted("baddbmm", {{1, n}, {b, m, k}, {b, k, n}}).work() == b * products);
  }
}

TEST_CASE("work: extents that are unknown count as one sample, sums as 32 terms") {
  CHECK(Counted("conv", {{unknown, 3, 8, 8}, {4, 3, 1, 1}}).work() == 4 * 64 * 3);
  CHECK(Counted("matmul", {{unknown, 5}, {5, 7}}).work() == 35);
  CHECK(Counted("matmul", {{2, unknown}, {5, 7}}).work() == 70);
  CHECK(Counted("matmul", {{2, 5}, {unknown, 7}}).work() == 70);
  CHECK(Counted("matmul", {{2, unknown}, {unknown, 7}}).work() == 2 * 7 * 32);
  CHECK(Counted("gemm", {{unknown, 2}, {7, unknown}},
                {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}})
            .work() == 2 * 7 * 32);
  CHECK(Counted("linear", {{3, unknown}, {7, unknown}}).work() == 3 * 7 * 32);
}

TEST_CASE("work: where no rank is known, or no operand is there, there is a number all the same") {
  for (const std::string_view kind :
       {"conv", "conv_transpose", "matmul", "gemm", "linear", "addmm", "batch_matmul", "baddbmm"}) {
    CAPTURE(kind);
    Graph graph;
    const Value x = graph.add_input("x", build::f32(Shape()));
    const Value y = build::add(graph, std::string(kind), {x, x, x}, build::f32(Shape()));
    CHECK(multiply_accumulates(graph.ref(y.node)) >= 1);
    CHECK(multiply_accumulates(graph.ref(y.node)) <= 32);
    const Value empty = build::add(graph, std::string(kind), {}, build::f32(Shape()));
    CHECK(multiply_accumulates(graph.ref(empty.node)) <= 32);
  }
}

TEST_CASE("work: none in other operations") {
  for (const std::string_view kind : {"add", "multiply", "onnx.Relu", "lstm", "transpose"}) {
    Graph graph;
    const Value x = graph.add_input("x", build::f32({2, 2}));
    const Value y = build::add(graph, std::string(kind), {x, x, x}, build::f32({2, 2}));
    CHECK(multiply_accumulates(graph.ref(y.node)) == 0);
  }
}

TEST_CASE("work: saturates") {
  constexpr std::int64_t large = std::int64_t{1} << 31;
  const Counted two({"matmul"}, {{large, 1}, {1, large}});
  CHECK(two.work() == std::int64_t{1} << 62);
  const Counted three("matmul", {{large, large}, {large, large}});
  CHECK(three.work() == most);
  Graph graph;
  const Value x = graph.add_input("x", build::f32({large, large, large}));
  const Value w = graph.add_input("w", build::f32({1, large, large, large}));
  const Value y = build::add(graph, "conv", {x, w}, build::f32({large, large, large}));
  CHECK(multiply_accumulates(graph.ref(y.node)) == most);
}

TEST_CASE("counted elements") {
  CHECK(counted_elements(Shape()) == 1);
  CHECK(counted_elements(Shape::scalar()) == 1);
  CHECK(counted_elements({2, 3, 4}) == 24);
  CHECK(counted_elements({unknown, 3, unknown}) == 3);
  CHECK(counted_elements({2, 0, 4}) == 0);
  CHECK(counted_elements({most, 2}) == most);
  CHECK(counted_elements({most, 2, 0}) == 0);  // whatever comes before
}
