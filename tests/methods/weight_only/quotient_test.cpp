#include "weight_only/quotient.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrant {
namespace {

using weight_only::quotient;

Constant floats(const Shape& shape, const std::vector<float>& values) {
  return Constant::from_values<float>(ElementType::float32, shape, values);
}

std::vector<float> values_of(const Constant& constant) {
  const ConstantBytes bytes = constant.read().value();
  const auto values = bytes.as<float>();
  return {values.begin(), values.end()};
}

// Extents 2 x 3 x 2 in every way that an axis may be missing, 1 or whole, on either side; the
// elements are found by three loops over the axes.
TEST_CASE("Operands broadcast by numpy's rules") {
  const std::vector<std::vector<std::int64_t>> shapes{{2, 3, 2}, {1, 3, 2}, {2, 1, 2}, {2, 3, 1},
                                                      {3, 2},    {3, 1},    {2},       {1}};
  const auto made = [](const std::vector<std::int64_t>& extents, float first) {
    const Shape shape(extents);
    std::vector<float> values(static_cast<std::size_t>(*shape.element_count()));
    for (float& value : values) value = first++;
    return floats(shape, values);
  };
  const auto position = [](std::vector<std::int64_t> extents, std::size_t i, std::size_t j,
                           std::size_t k) {
    extents.insert(extents.begin(), 3 - extents.size(), 1);
    return ((extents[0] == 1 ? 0 : i) * static_cast<std::size_t>(extents[1]) +
            (extents[1] == 1 ? 0 : j)) *
               static_cast<std::size_t>(extents[2]) +
           (extents[2] == 1 ? 0 : k);
  };
  for (const auto& one : shapes) {
    for (const bool is_divisor : {false, true}) {
      const auto& whole = shapes.front();
      const Constant a = made(is_divisor ? whole : one, 1);
      const Constant b = made(is_divisor ? one : whole, 5);
      const Constant found = quotient(a, b).value();
      REQUIRE(found);
      CHECK(found.shape() == Shape(whole));
      std::vector<float> wanted;
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          for (std::size_t k = 0; k < 2; ++k) {
            wanted.push_back(values_of(a)[position(is_divisor ? whole : one, i, j, k)] /
                             values_of(b)[position(is_divisor ? one : whole, i, j, k)]);
          }
        }
      }
      CHECK(values_of(found) == wanted);
    }
  }
}

TEST_CASE("The quotient is of the type of the dividend") {
  const std::vector<double> third{1.0 / 3};
  const Constant a = Constant::from_values<double>(ElementType::float64, Shape{1}, third);
  const Constant found = quotient(a, floats(Shape{1}, {4})).value();
  REQUIRE(found.element() == ElementType::float64);
  CHECK(found.read().value().as<double>()[0] == 1.0 / 3 / 4);
}

TEST_CASE("There is none where it would be large, not finite, or of another type") {
  CHECK_FALSE(quotient(floats(Shape{2}, {1, 2}), floats(Shape{3}, {1, 2, 3})).value());
  CHECK_FALSE(quotient(floats(Shape{2}, {1, 2}), floats(Shape{2}, {1, 0})).value());
  CHECK_FALSE(quotient(floats(Shape{1}, {3e38F}), floats(Shape{1}, {0.5F})).value());
  const std::vector<float> many(2000, 1);
  CHECK_FALSE(quotient(floats(Shape{2000, 1}, many), floats(Shape{1, 2000}, many)).value());
  CHECK(quotient(floats(Shape{1000, 1}, std::vector<float>(1000, 1)),
                 floats(Shape{1, 1000}, std::vector<float>(1000, 1)))
            .value());
  const std::vector<std::uint16_t> half{0x3c00};
  const Constant halves =
      Constant::from_values<std::uint16_t>(ElementType::float16, Shape{1}, half);
  CHECK_FALSE(quotient(halves, floats(Shape{1}, {1})).value());
  CHECK_FALSE(quotient(floats(Shape{1}, {1}), halves).value());
}

}  // namespace
}  // namespace quadrant
