// Which products of a model can leave 16 bits, counted from its codes.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models.hpp"
#include "quadrant/targets/runtime_profile.hpp"

using namespace quadrant;

namespace {

using Codes = std::vector<std::int8_t>;

// Constants of codes, behind a dequantize.
Value weight_of(Graph& graph, const Shape& shape, const Codes& codes) {
  const Value constant =
      graph.add_constant("w", Constant::from_vector(ElementType::int8, shape, codes));
  auto type = std::make_shared<UniformType>();
  type->storage = ElementType::int8;
  type->scales = build::floats(Shape(std::vector<std::int64_t>{}), {0.5F});
  graph.set_constant(constant.node, *graph.constant(constant.node), std::move(type));
  return build::add(graph, "dequantize", {constant}, build::f32(shape));
}

Value data_of(Graph& graph, Shape shape) {
  return models::requantized(graph, graph.add_input("x", build::f32(std::move(shape))));
}

// Two pairs along K for each of two columns; the bad ones are (100, 29) and (-100, -100).
const Codes columns{100, -100, 29, -100, 100, 1, -100, 127};

}  // namespace

TEST_CASE("a product's pairs are counted along the sum, in each runtime's order") {
  Graph graph;
  const Value x = data_of(graph, {3, 4});
  const Value y = build::add(graph, "matmul", {x, weight_of(graph, {4, 2}, columns)},
                             build::f32({3, 2}), {}, "y");
  graph.add_output("y", y);
  const auto found = find_paired_products(graph).value();
  REQUIRE(found.size() == 1);
  CHECK(found[0].node == y.node);
  CHECK(found[0].weight == "w");
  CHECK(found[0].onnxruntime == PairCount{4, 2});
  CHECK(found[0].openvino == PairCount{4, 2});
}

TEST_CASE("codes are found behind a transpose") {
  Graph graph;
  const Value x = data_of(graph, {3, 2});
  const Value w = build::add(graph, "transpose", {weight_of(graph, {4, 2}, columns)},
                             build::f32({2, 4}), {{"perm", std::vector<std::int64_t>{1, 0}}});
  graph.add_output("y", build::add(graph, "matmul", {x, w}, build::f32({3, 4})));
  // (100, -100), (29, -100), (100, 1), (-100, 127)
  const auto found = find_paired_products(graph).value();
  REQUIRE(found.size() == 1);
  CHECK(found[0].onnxruntime == PairCount{4, 0});
}

TEST_CASE("kernels differ where the channels of a convolution are odd in number") {
  Graph graph;
  const Value x = data_of(graph, {1, 3, 4, 4});
  // One output, three channels of two taps: (100, 100, 0), (0, 0, 100) and so on, tap by tap.
  const Codes codes{100, 100, 0, 100, 0, 100};  // channels [100, 100], [0, 100], [0, 100]
  const Value w = weight_of(graph, {1, 3, 1, 2}, codes);
  const Value y = build::add(graph, std::string(ops::Conv::kind), {x, w}, build::f32({1, 1, 4, 3}));
  const NodeId real = graph.add_output("real", y);
  // ONNX Runtime's are real numbers as long as nobody makes codes of them.
  CHECK(find_paired_products(graph).value().front().onnxruntime == PairCount{});
  graph.erase(real);
  graph.add_output("y", models::requantized(graph, y));
  const auto found = find_paired_products(graph).value();
  REQUIRE(found.size() == 1);
  // Taps [100, 0, 0] and [100, 100, 100]. One after the other: (100, 0), (0, 100), (100, 100).
  CHECK(found[0].onnxruntime == PairCount{3, 1});
  // Each alone: (100, 0), and (100, 100).
  CHECK(found[0].openvino == PairCount{2, 1});
}

TEST_CASE("what scales cost that are larger than codes need them") {
  // Of 64, half of the range, or a step of 6 dB.
  for (const auto& [code, cost] :
       {std::pair{127, 0.0}, std::pair{64, 5.953}, std::pair{-128, 0.0}}) {
    Graph graph;
    const Value x = data_of(graph, {3, 4});
    const Codes codes(8, static_cast<std::int8_t>(code));
    graph.add_output(
        "y", build::add(graph, "matmul", {x, weight_of(graph, {4, 2}, codes)}, build::f32({3, 2})));
    const auto found = find_paired_products(graph).value();
    REQUIRE(found.size() == 1);
    CHECK(found[0].unused_range_db == doctest::Approx(cost).epsilon(1e-3));
  }
}

TEST_CASE("nothing meets in 16 bits where data or weights are no codes of 8 bits with a sign") {
  Graph floats;
  const Value x = floats.add_input("x", build::f32({3, 4}));
  floats.add_output("y", build::add(floats, "matmul", {x, weight_of(floats, {4, 2}, columns)},
                                    build::f32({3, 2})));
  CHECK(find_paired_products(floats).value().empty());

  Graph unsigned_weight;
  const Value data = data_of(unsigned_weight, {3, 4});
  const Value w = models::coded_weight(unsigned_weight, "w", ElementType::uint8, {4, 2});
  unsigned_weight.add_output("y",
                             build::add(unsigned_weight, "matmul", {data, w}, build::f32({3, 2})));
  CHECK(find_paired_products(unsigned_weight).value().empty());
}
