#include "numerics/reals.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>

#include "numerics/helpers.hpp"

namespace quadrant {
namespace {

using test::contents;
using test::double_infinity;
using test::float_constant;

// What binary32 rounds to its largest number, and what it rounds to infinity: from IEEE 754.
constexpr double largest_float = 0x1.fffffep127;
constexpr double too_large_for_float = 0x1.ffffffp127;

// A source that cannot be read.
class Broken final : public ConstantSource {
 public:
  [[nodiscard]] Expected<void> read(std::uint64_t, std::span<std::byte>) const override {
    return fail(ErrorCode::io, "gone");
  }
};

TEST_CASE("Elements of every float type are read exactly") {
  const std::vector<float> values{0.0F, -1.5F, 0.25F, 240.0F, -0.0078125F};
  for (const ElementType element :
       {ElementType::float16, ElementType::bfloat16, ElementType::float32, ElementType::float64}) {
    CAPTURE(to_string(element));
    const auto found = read_reals(float_constant(element, Shape{5}, values));
    REQUIRE(found);
    CHECK(*found == std::vector<double>(values.begin(), values.end()));
  }
}

TEST_CASE("Codes of 32 bits stand for more than a float holds") {
  const Constant codes = Constant::from_values<std::int32_t>(
      ElementType::int32, Shape{2, 3}, std::array{16777217, -3, 0, 2147483647, 5, -2147483647 - 1});
  UniformType type{.storage = ElementType::int32,
                   .granularity = Granularity::per_axis(1),
                   .storage_min = -2147483647 - 1,
                   .storage_max = 2147483647};
  type.scales = float_constant(Shape{3}, std::array{1.0F, 0.5F, 2.0F});
  type.zero_points =
      Constant::from_values<std::int32_t>(ElementType::int32, Shape{3}, std::array{0, 1, -1});
  const auto of_type = [&] { return read_reals(codes, std::make_shared<const UniformType>(type)); };
  CHECK(of_type().value() == std::vector<double>{16777217, -2, 2, 2147483647, 2, -4294967294});
  type.granularity = Granularity::per_block(1, 2);  // two, and the third alone
  type.zero_points = {};
  type.scales = float_constant(Shape{2, 2}, std::array{1.0F, 0.5F, 2.0F, 0.25F});
  CHECK(of_type().value() == std::vector<double>{16777217, -3, 0, 4294967294, 10, -536870912});
  type.scales = float_constant(Shape{2}, std::array{1.0F, 0.5F});
  CHECK_FALSE(of_type());
}

TEST_CASE("Doubles keep what float32 has no room for") {
  const std::vector<double> values{0.1, 1e300, 1 + 0x1p-52};
  const auto found =
      read_reals(Constant::from_values<double>(ElementType::float64, Shape{3}, values));
  REQUIRE(found);
  CHECK(*found == values);
}

TEST_CASE("An empty constant has no elements") {
  const auto found = read_reals(float_constant(ElementType::float16, Shape{0}, {}));
  REQUIRE(found);
  CHECK(found->empty());
}

TEST_CASE("What is no float is refused, and what cannot be read too") {
  const std::array<std::int32_t, 1> one{1};
  const auto integers =
      read_reals(Constant::from_values<std::int32_t>(ElementType::int32, Shape{1}, one));
  REQUIRE_FALSE(integers);
  CHECK(integers.error().code == ErrorCode::impossible);
  CHECK(integers.error().message.find("i32") != std::string::npos);
  const auto broken = read_reals(
      Constant::deferred(ElementType::float32, Shape{1}, std::make_shared<const Broken>()));
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::io);
}

TEST_CASE("Each number is rounded once, to nearest even") {
  const std::array values{0.1, 1 + 0x1p-24, 1 + 0x1.8p-23, largest_float};
  const Constant rounded = rounded_constant(ElementType::float32, Shape{2, 2}, values);
  CHECK(rounded.element() == ElementType::float32);
  CHECK(rounded.shape() == Shape{2, 2});
  CHECK(contents<float>(rounded) ==
        std::vector{0x1.99999ap-4F, 1.0F, 1 + 0x1p-22F, 0x1.fffffep127F});
  const Constant kept = rounded_constant(ElementType::float64, Shape{4}, values);
  CHECK(contents<double>(kept) == std::vector<double>(values.begin(), values.end()));
}

TEST_CASE("Numbers are finite where they are once rounded") {
  const std::array fits{largest_float, -largest_float, 0x1p-1074, 0.0};
  CHECK(are_finite(ElementType::float32, fits));
  CHECK(are_finite(ElementType::float64, fits));
  const std::array large{1.0, too_large_for_float};
  CHECK_FALSE(are_finite(ElementType::float32, large));
  CHECK(are_finite(ElementType::float64, large));
  for (const double bad : {double_infinity, -double_infinity, std::nan("")}) {
    CHECK_FALSE(are_finite(ElementType::float32, std::array{1.0, bad}));
    CHECK_FALSE(are_finite(ElementType::float64, std::array{1.0, bad}));
  }
  CHECK(are_finite(ElementType::float32, std::span<const double>()));
}

TEST_CASE("Wide are float32 and float64 alone") {
  for (int i = 0; i <= static_cast<int>(ElementType::opaque); ++i) {
    const auto element = static_cast<ElementType>(i);
    CAPTURE(to_string(element));
    CHECK(is_wide_float(element) == (is_float(element) && bit_width(element) >= 32));
  }
}

}  // namespace
}  // namespace quadrant
