#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>

#include "quadrant/ir/constant.hpp"

using namespace quadrant;

namespace {
constexpr int count = static_cast<int>(ElementType::opaque) + 1;
}

TEST_CASE("names are unique and parse back") {
  std::set<std::string_view> names;
  for (int i = 0; i < count; ++i) {
    const auto type = static_cast<ElementType>(i);
    names.insert(to_string(type));
    CHECK(parse_element_type(to_string(type)) == type);
  }
  CHECK(names.size() == count);
  CHECK(to_string(ElementType::bfloat16) == "bf16");
  CHECK(to_string(ElementType::uint4) == "u4");
  CHECK(to_string(ElementType::boolean) == "i1");
  for (const char* text : {"", "F32", "f3", "f32 ", "float", "i7"}) {
    CAPTURE(text);
    CHECK(!parse_element_type(text));
  }
}

TEST_CASE("widths") {
  CHECK(bit_width(ElementType::int4) == 4);
  CHECK(byte_width(ElementType::int4) == 1);
  CHECK(bit_width(ElementType::boolean) == 1);
  CHECK(byte_width(ElementType::boolean) == 1);
  CHECK(byte_width(ElementType::bfloat16) == 2);
  CHECK(byte_width(ElementType::float64) == 8);
  for (const ElementType type : {ElementType::undefined, ElementType::opaque}) {
    CHECK(bit_width(type) == 0);
    CHECK(byte_width(type) == 0);
  }
}

// https://onnx.ai/onnx/technical/float8.html and float4.html: bits by the names.
TEST_CASE("types that are carried have a name and bits, and no bytes in constants") {
  int carried = 0;
  for (int i = 0; i < count; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (!is_carried(type) || type == ElementType::opaque) continue;
    ++carried;
    CAPTURE(to_string(type));
    CHECK(to_string(type).substr(1, 1) == std::to_string(bit_width(type)));
    CHECK(byte_width(type) == 0);
    CHECK(!is_float(type));
    CHECK(!is_integer(type));
    CHECK(!integer_range(type));
  }
  CHECK(carried == 10);
  CHECK(is_carried(ElementType::opaque));
  CHECK(!is_carried(ElementType::undefined));
  CHECK(!is_carried(ElementType::int4));
}

TEST_CASE("a type is at most one of float and integer") {
  int floats = 0;
  int integers = 0;
  for (int i = 0; i < count; ++i) {
    const auto type = static_cast<ElementType>(i);
    CHECK(!(is_float(type) && is_integer(type)));
    floats += is_float(type) ? 1 : 0;
    integers += is_integer(type) ? 1 : 0;
  }
  CHECK(floats == 4);
  CHECK(integers == 10);
  CHECK(!is_integer(ElementType::boolean));
}

TEST_CASE("integer ranges are those of the language's types") {
  const auto same = []<class T>(ElementType type, T) {
    return integer_range(type) == IntegerRange{std::int64_t{std::numeric_limits<T>::min()},
                                               std::int64_t{std::numeric_limits<T>::max()}};
  };
  CHECK(same(ElementType::int8, std::int8_t{}));
  CHECK(same(ElementType::uint8, std::uint8_t{}));
  CHECK(same(ElementType::int16, std::int16_t{}));
  CHECK(same(ElementType::uint16, std::uint16_t{}));
  CHECK(same(ElementType::int32, std::int32_t{}));
  CHECK(same(ElementType::uint32, std::uint32_t{}));
  CHECK(integer_range(ElementType::int4) == IntegerRange{-8, 7});
  CHECK(integer_range(ElementType::uint4) == IntegerRange{0, 15});
  for (const ElementType type : {ElementType::int64, ElementType::uint64, ElementType::boolean,
                                 ElementType::float32, ElementType::undefined}) {
    CHECK(!integer_range(type));
  }
}
