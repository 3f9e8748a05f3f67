#include "ir/scales.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

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
  const Constant integers =
      Constant::from_values<std::int32_t>(ElementType::int32, Shape{1}, std::vector{1});
  CHECK_FALSE(read_scales(integers).has_value());
  CHECK_FALSE(read_exact_scales(integers).has_value());
}

TEST_CASE("scales of float64 are read as they are, and rounded to float32") {
  const std::vector<double> values{0.1, 1.0 / 3};
  const Constant exact = make_exact_scales(ElementType::float64, Shape{2}, values);
  CHECK(*read_exact_scales(exact) == values);
  CHECK(*read_scales(exact) == std::vector<float>{0.1F, static_cast<float>(1.0 / 3)});
  CHECK(*read_exact_scales(make_scales(ElementType::float32, Shape{1}, {0.1F})) ==
        std::vector<double>{static_cast<double>(0.1F)});
  CHECK(*read_scales(make_exact_scales(ElementType::float16, Shape{1}, {0.1})) ==
        std::vector<float>{1638.0F / 16384.0F});
}

TEST_CASE("a zero point for each scale, of however many") {
  constexpr std::size_t count = 5000;
  const Shape shape{count};
  UniformType type{.storage = ElementType::int8,
                   .scales = make_scales(ElementType::float32, shape, std::vector(count, 0.5F))};
  CHECK(*read_zero_points(type) == std::vector<std::int64_t>(count, 0));
  const std::vector<std::int64_t> sevens(count, 7);
  type.zero_points = make_zero_points(type.storage, shape, sevens);
  CHECK(*read_zero_points(type) == sevens);
}

TEST_CASE("codes of any width, and scales of float64, come back from text") {
  for (const std::string type :
       {"i1:f32, 0.5", "u1:f32, 0.5", "i3:f32, 0.5", "u3<1:6>:f64, f64 0.1:2", "i5:f16, 0.5:-16",
        "i13:f32:1, {0.5:-4096, 0.25, 3.0}", "u31:f32, 0.5", "i32:f64, f64 0.3333333333333333",
        "i8:f32:1, f64 {0.1, 1e-300, 3.0:-3}"}) {
    const std::string line = "%w: tensor<2x3x!quant.uniform<" + type + ">> = input()\n";
    const auto graph = parse_graph("graph {}\n" + line + "output(%w)\n");
    if (!graph) MESSAGE(type, ": ", to_string(graph.error()));
    REQUIRE(graph.has_value());
    CHECK_MESSAGE(print_graph(*graph).find(line.substr(0, line.size() - 1)) != std::string::npos,
                  type, " became ", print_graph(*graph));
  }
  for (const std::string type : {"i0:f32, 0.5", "i33:f32, 0.5", "u64:f32, 0.5", "i08:f32, 0.5",
                                 "s8:f32, 0.5", "i:f32, 0.5", "i3x:f32, 0.5"}) {
    CHECK_FALSE(
        parse_graph("graph {}\n%w: tensor<2x!quant.uniform<" + type + ">> = input()\noutput(%w)\n")
            .has_value());
  }
}

namespace {

// One half, and how often it was read.
class Counted final : public ConstantSource {
 public:
  explicit Counted(int& reads) : reads_(reads) {}
  Expected<void> read(std::uint64_t /*offset*/, std::span<std::byte> out) const override {
    ++reads_;
    const float half = 0.5F;
    std::ranges::copy(std::as_bytes(std::span(&half, 1)), out.begin());
    return {};
  }

 private:
  int& reads_;
};

}  // namespace

TEST_CASE("scales that are brought into memory are read once, and are the same") {
  int reads = 0;
  UniformType type;
  type.scales = Constant::deferred(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                                   std::make_shared<Counted>(reads));
  const Quantization deferred = std::make_shared<const UniformType>(type);
  const auto kept = in_memory(deferred);
  REQUIRE(kept.has_value());
  CHECK(reads == 1);
  UniformType half;
  half.scales = Constant::from_vector(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                                      std::vector<float>{0.5F});
  for (int i = 0; i < 3; ++i) {
    CHECK(mean_the_same(*kept, std::make_shared<const UniformType>(half)));
  }
  CHECK(reads == 1);
  CHECK(in_memory(Quantization()) == Quantization());
}

TEST_CASE("the range of a width, and the storage that holds it") {
  for (int bits = 1; bits <= 32; ++bits) {
    for (const bool is_signed : {false, true}) {
      const IntegerRange range = code_range(bits, is_signed);
      CHECK(range.max - range.min + 1 == std::int64_t{1} << bits);
      CHECK((range.min < 0) == is_signed);
      const ElementType storage = storage_element(bits, is_signed);
      const IntegerRange held = *integer_range(storage);
      CHECK((held.min <= range.min && range.max <= held.max));
      CHECK((bits <= 4 || 2 * bits > bit_width(storage)));
    }
  }
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
  CHECK(graph->type(w).uniform()->scales.element() == ElementType::float16);
  CHECK(to_string(graph->type(w)) == "tensor<2x!quant.uniform<i8:f32:0, f16 {0.5, -3.0}>>");
}

TEST_CASE("scales of products are those of the weight, times the data's") {
  const auto type_of = [](const std::string& type) {
    const auto graph = parse_graph("graph {}\n%v: tensor<3x!quant.uniform<" + type +
                                   ">> = constant() [1, 2, 3]\noutput(%v)\n");
    REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
    return graph->type(graph->find_value("v")).quantization;
  };
  const Quantization data = type_of("i8:f32, 0.5:3");
  const Quantization weight = type_of("i8:f32:0, {0.25, 2.0, 4.0}");
  CHECK(*product_scales(data, weight) == std::vector<float>{0.125F, 1, 2});
  CHECK(has_product_scales(type_of("i32:f32:0, {0.125, 1.0, 2.0}"), data, weight));
  CHECK(has_product_scales(type_of("i32:f32:0, {0.12500001, 1.0, 2.0}"), data, weight));
  CHECK_FALSE(has_product_scales(type_of("i32:f32:0, {0.126, 1.0, 2.0}"), data, weight));
  CHECK_FALSE(has_product_scales(type_of("i32:f32, 0.125"), data, weight));
  for (const char* const extreme :
       {"i8:f32:0, {0.25, 1e-45, 4.0}", "i8:f32:0, {0.25, 1e-38, 4.0}"}) {
    CHECK_FALSE(product_scales(data, type_of(extreme)));
  }
  CHECK_FALSE(product_scales(type_of("i8:f32, 1e30"), type_of("i8:f32, 1e30")));
}

TEST_CASE("of levels of scales, the innermost groups; one level is read, and a target has names") {
  const auto scales = [](const Shape& shape, std::vector<float> values) {
    return make_scales(ElementType::float32, shape, std::move(values));
  };
  const Quantization levels =
      ScaledFormat{*parse_number_format("f4e2m1 * f32[tensor] * f8e4m3[axis=1 block=16] : f32"),
                   {scales(Shape::scalar(), {2}), scales(Shape{1, 2}, {1, 0.5F})},
                   {},
                   {}};
  CHECK(granularity_of(levels) == Granularity::per_block(1, 16));
  CHECK_FALSE(read_scales(levels));
  CHECK(*read_zero_points(levels) == std::vector<std::int64_t>{0, 0});
  const auto refused = uniform_for("that", levels);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "that has no codes of f4e2m1 * f32[tensor] * f8e4m3[axis=1 block=16] : f32: the nearest "
        "that it has are i4");
  CHECK(granularity_of(Quantization()) == Granularity::per_tensor());
  CHECK(*uniform_for("that", Quantization()) == nullptr);
  const Quantization one = ScaledFormat{
      *parse_number_format("f8e4m3 * f32[axis=0] : f32"), {scales(Shape{2}, {2, 3})}, {}, {}};
  CHECK(*read_scales(one) == std::vector<float>{2, 3});
}
