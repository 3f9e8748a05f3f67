#include "quadrant/ir/scales.hpp"

#include <doctest/doctest.h>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

TEST_CASE("scales come back as they were, or rounded to float16") {
  const std::vector<float> values{0.5F, -3.0F, 0.1F};
  const Constant single = make_scales(ElementType::float32, Shape{3}, values);
  CHECK(*read_scales(single) == values);
  const Constant half = make_scales(ElementType::float16, Shape{3}, values);
  CHECK(half.element() == ElementType::float16);
  // 0.1 is 0x2e66 in binary16: 1638 / 16384.
  CHECK(*read_scales(half) == std::vector<float>{0.5F, -3.0F, 1638.0F / 16384.0F});
}

TEST_CASE("scales of other types are refused") {
  CHECK_FALSE(read_scales(Constant{}).has_value());
  const Constant doubles =
      Constant::from_values<double>(ElementType::float64, Shape{1}, std::vector<double>{1});
  CHECK_FALSE(read_scales(doubles).has_value());
}

TEST_CASE("float16 scales have a mark of their own in text") {
  const std::string text =
      "graph {}\n"
      "%w: tensor<2x!quant.uniform<i8:f32:0, f16 {0.5, -3.0}>> = constant() [1, 2]\n"
      "output(%w)\n";
  const auto graph = parse_graph(text);
  if (!graph) MESSAGE(to_string(graph.error()));
  REQUIRE(graph.has_value());
  const Value w = graph->find_value("w");
  CHECK(graph->type(w).quantization->scales.element() == ElementType::float16);
  CHECK(to_string(graph->type(w)) == "tensor<2x!quant.uniform<i8:f32:0, f16 {0.5, -3.0}>>");
}

TEST_CASE("scales of products are those of the weight, times the data's") {
  const auto type_of = [](const std::string& type) {
    const auto graph = parse_graph("graph {}\n%v: tensor<3x!quant.uniform<" + type +
                                   ">> = constant() [1, 2, 3]\noutput(%v)\n");
    REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
    return *graph->type(graph->find_value("v")).quantization;
  };
  const UniformType data = type_of("i8:f32, 0.5:3");
  const UniformType weight = type_of("i8:f32:0, {0.25, 2.0, 4.0}");
  CHECK(*product_scales(data, weight) == std::vector<float>{0.125F, 1, 2});
  CHECK(has_product_scales(type_of("i32:f32:0, {0.125, 1.0, 2.0}"), data, weight));
  CHECK(has_product_scales(type_of("i32:f32:0, {0.12500001, 1.0, 2.0}"), data, weight));
  CHECK_FALSE(has_product_scales(type_of("i32:f32:0, {0.126, 1.0, 2.0}"), data, weight));
  CHECK_FALSE(has_product_scales(type_of("i32:f32, 0.125"), data, weight));
}
