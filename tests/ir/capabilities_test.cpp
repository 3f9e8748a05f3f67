#include <doctest/doctest.h>

#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/number_format.hpp"

using namespace quadrant;

TEST_CASE("a type without numbers has all but these") {
  const auto format = parse_number_format("(u8 - z) * f16[axis=1] : f32");
  REQUIRE(format.has_value());
  const TensorType type = type_without_numbers(*format, Shape{2, 3});
  REQUIRE(type.uniform() != nullptr);
  CHECK(type.element == ElementType::uint8);
  CHECK(type.shape == Shape{2, 3});
  CHECK(type.uniform()->scales.shape() == Shape{3});
  CHECK(type.uniform()->scales.element() == ElementType::float16);
  CHECK(type.uniform()->zero_points.shape() == Shape{3});
  const auto scales = type.uniform()->scales.read();
  REQUIRE(scales.has_value());
  for (std::size_t i = 0; i < 3; ++i) CHECK(scales->as<std::uint16_t>()[i] == 0x3c00);  // 1
}

TEST_CASE("where the shape is open, so is how many numbers there are") {
  const auto format = parse_number_format("i8 * f32[axis=0] : f32");
  REQUIRE(format.has_value());
  const TensorType open =
      type_without_numbers(*format, Shape(std::vector<Extent>{Extent::open(), Extent(4)}));
  REQUIRE(open.uniform() != nullptr);
  CHECK_FALSE(open.uniform()->scales);
  CHECK(open.uniform()->granularity == Granularity::per_axis(0));
  CHECK(type_without_numbers(*format, Shape()).is_quantized());
}

TEST_CASE("formats that are not uniform have their parts") {
  const auto format = parse_number_format("nf4 * f32[axis=1 block=2] : f32");
  REQUIRE(format.has_value());
  const TensorType type = type_without_numbers(*format, Shape{2, 4});
  REQUIRE(type.quantization.other() != nullptr);
  const auto contents = contents_of(*type.quantization.other());
  REQUIRE(contents.size() == 1);
  CHECK(contents.front().shape() == Shape{2, 2});
  const auto scales = contents.front().read();
  REQUIRE(scales.has_value());
  for (std::size_t i = 0; i < 4; ++i) CHECK(scales->as<float>()[i] == 1);
}

namespace {

struct NoHalves final : Capabilities {
  [[nodiscard]] Expected<void> can_hold(const TensorType& type) const override {
    if (type.element == ElementType::float16) return fail(ErrorCode::impossible, "no float16");
    return {};
  }
  [[nodiscard]] Expected<void> check_view() const override {
    if (is_stale) return fail(ErrorCode::invalid_model, "rows are stale");
    return {};
  }
  bool is_stale = false;
};

}  // namespace

TEST_CASE("a graph of the library's can have some, and so have its copies") {
  NoHalves limits;
  Graph graph;
  CHECK(graph.capabilities() == nullptr);
  graph.set_capabilities(&limits);
  const Graph copy = graph;
  REQUIRE(copy.capabilities() != nullptr);
  CHECK_FALSE(copy.capabilities()->can_hold({ElementType::float16, {2}, nullptr}));
  CHECK(copy.capabilities()->can_hold({ElementType::float32, {2}, nullptr}));
}

TEST_CASE("verify asks whether the view says what the IR says") {
  NoHalves limits;
  Graph graph;
  graph.set_capabilities(&limits);
  CHECK(verify(graph));
  limits.is_stale = true;
  const auto valid = verify(graph);
  REQUIRE_FALSE(valid);
  CHECK(valid.error().message == "rows are stale");
}
