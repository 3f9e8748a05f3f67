#include "quadrant/numerics/encoding.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "numerics/helpers.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant {
namespace {

Encoding encoding(int bits, std::int64_t steps, double scale, std::int64_t zero_point) {
  return {.bits = bits,
          .steps = steps,
          .scale = scale,
          .zero_point = zero_point,
          .min = -scale * static_cast<double>(zero_point),
          .max = scale * static_cast<double>(steps - zero_point)};
}

UniformType of_one(const Encoding& encoding, CodeSign sign) {
  return uniform_type(std::vector{encoding}, {4, 6}, Granularity::per_tensor(), sign).value();
}

TEST_CASE("uniform types: codes as they are, or around zero") {
  const UniformType bytes = of_one(encoding(8, 255, 0.5, 200), CodeSign::unsigned_codes);
  CHECK(bytes.storage == ElementType::uint8);
  CHECK(bytes.storage_min == 0);
  CHECK(bytes.storage_max == 255);
  CHECK(test::contents<float>(bytes.scales) == std::vector{0.5F});
  CHECK(test::contents<std::uint8_t>(bytes.zero_points) == std::vector<std::uint8_t>{200});

  const UniformType around = of_one(encoding(8, 255, 0.5, 200), CodeSign::signed_codes);
  CHECK(around.storage == ElementType::int8);
  CHECK(around.storage_min == -128);
  CHECK(around.storage_max == 127);
  CHECK(test::contents<std::int8_t>(around.zero_points) == std::vector<std::int8_t>{72});

  // Symmetric, and strictly: zero point 0, which needs no constant.
  for (const auto& [steps, zero_point, lowest] :
       {std::tuple{255, 128, -128}, std::tuple{254, 127, -127}}) {
    const UniformType symmetric =
        of_one(encoding(8, steps, 0.5, zero_point), CodeSign::signed_codes);
    CHECK(symmetric.storage_min == lowest);
    CHECK(symmetric.storage_max == 127);
    CHECK(!symmetric.zero_points);
  }
  const UniformType strict = of_one(encoding(8, 254, 0.5, 127), CodeSign::unsigned_codes);
  CHECK(strict.storage_min == 0);
  CHECK(strict.storage_max == 254);
  CHECK(test::contents<std::uint8_t>(strict.zero_points) == std::vector<std::uint8_t>{127});
  CHECK(!of_one(encoding(8, 255, 0.5, 0), CodeSign::unsigned_codes).zero_points);
}

TEST_CASE("uniform types: the smallest storage that holds the codes") {
  for (int bits = 2; bits <= 16; ++bits) {
    CAPTURE(bits);
    const std::int64_t steps = (std::int64_t{1} << bits) - 1;
    for (const CodeSign sign : {CodeSign::unsigned_codes, CodeSign::signed_codes}) {
      const UniformType type = of_one(encoding(bits, steps, 0.25, 1), sign);
      CHECK(bit_width(type.storage) == (bits <= 4 ? 4 : bits <= 8 ? 8 : 16));
      CHECK(type.storage_max - type.storage_min == steps);
      CHECK((type.storage_min < 0) == (sign == CodeSign::signed_codes));
      CHECK(verify(type, {4, 6}));
    }
  }
}

TEST_CASE("uniform types: an encoding for each scale") {
  for (const Granularity& granularity : {Granularity::per_axis(1), Granularity::per_block(1, 4)}) {
    const Shape parameters = parameter_shape({4, 6}, granularity);
    const auto count = static_cast<std::size_t>(*parameters.element_count());
    std::vector<Encoding> encodings;
    std::vector<float> scales;
    std::vector<std::uint8_t> zero_points;
    for (std::size_t i = 0; i < count; ++i) {
      scales.push_back(static_cast<float>(i + 1) / 8);
      zero_points.push_back(static_cast<std::uint8_t>(i));
      encodings.push_back(encoding(8, 255, static_cast<double>(scales[i]), zero_points[i]));
    }
    const auto type =
        uniform_type(encodings, {4, 6}, granularity, CodeSign::unsigned_codes).value();
    CHECK(type.granularity == granularity);
    CHECK(type.scales.shape() == parameters);
    CHECK(test::contents<float>(type.scales) == scales);
    CHECK(test::contents<std::uint8_t>(type.zero_points) == zero_points);
    CHECK(verify(type, {4, 6}));
  }
}

TEST_CASE("uniform types: what cannot be") {
  const auto message = [](const std::vector<Encoding>& encodings, const Shape& shape = {4, 6},
                          const Granularity& granularity = Granularity::per_axis(0)) {
    const auto type = uniform_type(encodings, shape, granularity, CodeSign::signed_codes);
    REQUIRE(!type);
    CHECK(type.error().code == ErrorCode::impossible);
    return type.error().message;
  };
  const auto contains = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const Encoding good = encoding(8, 255, 0.5, 10);
  CHECK(contains(message({good, good}), "2 encodings, where a tensor of shape [4x6] has 4 scales"));
  CHECK(contains(message({}), "0 encodings"));
  CHECK(contains(message({good}, {4, 6}, Granularity::per_axis(2)), "no axis 2"));
  CHECK(contains(message({good}, {Extent::open(), 6}), "must be known"));
  const auto second = [&](const Encoding& other) { return message({good, other, good, good}); };
  CHECK(contains(second(encoding(4, 15, 0.5, 1)), "encoding 1 has other codes"));
  CHECK(contains(second(encoding(8, 254, 0.5, 1)), "encoding 1 has other codes"));
  CHECK(contains(second(encoding(8, 300, 0.5, 1)), "has 300 steps: 8 bits have 255"));
  CHECK(contains(second(encoding(8, 255, 0.5, 256)), "has zero point 256"));
  CHECK(contains(second(encoding(8, 255, 0.5, -1)), "has zero point -1"));
  CHECK(contains(second(encoding(8, 255, 0, 1)), "has the scale 0"));
  CHECK(contains(second(encoding(8, 255, -1, 1)), "has the scale -1"));
  CHECK(contains(second(encoding(8, 255, 1e-60, 1)), "as float32"));
  CHECK(contains(second(encoding(8, 255, 1e60, 1)), "as float32"));
  CHECK(contains(second(encoding(8, 255, std::numeric_limits<double>::quiet_NaN(), 1)),
                 "has the scale nan"));
  CHECK(contains(message({encoding(1, 1, 1, 0)}, {1}), "has 1 bits"));
  CHECK(contains(message({encoding(17, 131071, 1, 0)}, {1}), "has 17 bits"));
  CHECK(contains(message({encoding(200, 255, 1, 0)}, {1}), "has 200 bits"));
}

TEST_CASE("uniform types: an empty tensor has none to be made of") {
  const auto type =
      uniform_type({}, {0, 3}, Granularity::per_block(1, 2), CodeSign::signed_codes).value();
  CHECK(type.storage == ElementType::int8);
  CHECK(type.scales.element_count() == 0);
}

}  // namespace
}  // namespace quadrant
