#include "quadrant/io/npy.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "npy_bytes.hpp"
#include "temporary_folder.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

Expected<Tensor> read(const std::string& bytes) {
  const TemporaryFolder folder;
  return read_npy(folder.write("a.npy", bytes));
}

Error npy_error_of(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.npy", bytes);
  const auto tensor = read_npy(path);
  REQUIRE_FALSE(tensor.has_value());
  CHECK(tensor.error().code == ErrorCode::invalid_model);
  CHECK(tensor.error().place.file == path);
  return tensor.error();
}

void check_npy_says(const std::string& bytes, std::string_view words, std::uint64_t offset) {
  const Error error = npy_error_of(bytes);
  INFO(error.message);
  CHECK(error.message.find(words) != std::string::npos);
  CHECK(error.place.offset == offset);
}

}  // namespace

TEST_CASE("every element type, of either byte order") {
  struct Case {
    std::string_view type;
    ElementType element;
    std::string_view little;  // one element, not the same backwards
  };
  using namespace std::string_view_literals;
  const std::vector<Case> cases{
      {"i1", ElementType::int8, "\xfe"sv},
      {"u1", ElementType::uint8, "\xfe"sv},
      {"i2", ElementType::int16, "\x01\xfe"sv},
      {"u2", ElementType::uint16, "\x01\xfe"sv},
      {"i4", ElementType::int32, "\x01\x02\x03\xfe"sv},
      {"u4", ElementType::uint32, "\x01\x02\x03\xfe"sv},
      {"i8", ElementType::int64, "\x01\x02\x03\x04\x05\x06\x07\xfe"sv},
      {"u8", ElementType::uint64, "\x01\x02\x03\x04\x05\x06\x07\xfe"sv},
      {"f2", ElementType::float16, "\x00\x3c"sv},
      {"f4", ElementType::float32, "\x00\x00\xc0\x3f"sv},
      {"f8", ElementType::float64, "\x00\x00\x00\x00\x00\x00\xf8\x3f"sv},
  };
  for (const Case& one : cases) {
    CAPTURE(one.type);
    const std::string big(one.little.rbegin(), one.little.rend());
    for (const char order : {'<', '>'}) {
      const std::string_view stored = order == '<' ? one.little : big;
      const auto tensor = read(npy(fmt::format("{}{}", order, one.type), "(1,)", stored));
      REQUIRE(tensor.has_value());
      CHECK(tensor->element() == one.element);
      CHECK(tensor->shape() == Shape{1});
      CHECK(text_of(tensor->bytes()) == one.little);
    }
  }
}

TEST_CASE("booleans are 0 or 1, whatever the file has") {
  const auto tensor = read(npy("|b1", "(3,)", std::string_view("\0\1\5", 3)));
  REQUIRE(tensor.has_value());
  CHECK(tensor->element() == ElementType::boolean);
  CHECK(values_of<std::uint8_t>(*tensor) == std::vector<std::uint8_t>{0, 1, 1});
}

TEST_CASE("format versions 1 to 3, and spaces that NumPy does not write") {
  const std::string text = "{\"shape\":(1 , 2L,) , 'fortran_order' : False,'descr':'|u1'} \n";
  for (const int version : {1, 2, 3}) {
    CAPTURE(version);
    const auto tensor = read(npy_of(text, "ab", version));
    REQUIRE(tensor.has_value());
    CHECK(tensor->shape() == Shape{1, 2});
    CHECK(text_of(tensor->bytes()) == "ab");
  }
}

TEST_CASE("no axes, and no elements") {
  const auto scalar = read(npy("|u1", "()", "a"));
  REQUIRE(scalar.has_value());
  CHECK(scalar->shape() == Shape::scalar());
  const auto empty = read(npy("<f4", "(2, 0)", ""));
  REQUIRE(empty.has_value());
  CHECK(empty->shape() == Shape{2, 0});
  CHECK(empty->element_count() == 0);
}

TEST_CASE("elements by columns are put in rows") {
  // Element (i, j, k) of a 2x3x2 array is the letter i + 2j + 6k.
  const auto tensor = read(npy("|u1", "(2, 3, 2)", "abcdefghijkl", true));
  REQUIRE(tensor.has_value());
  CHECK(tensor->shape() == Shape{2, 3, 2});
  CHECK(text_of(tensor->bytes()) == "agciekbhdjfl");
  // Two bytes each, the first the most significant.
  const auto wide = read(npy(">u2", "(2, 2)", std::string_view("\0\1\0\2\0\3\0\4", 8), true));
  REQUIRE(wide.has_value());
  CHECK(values_of<std::uint16_t>(*wide) == std::vector<std::uint16_t>{1, 3, 2, 4});
  const auto none = read(npy("|u1", "(3, 0)", "", true));
  REQUIRE(none.has_value());
  CHECK(none->shape() == Shape{3, 0});
}

TEST_CASE("types that are not read are named") {
  for (const std::string_view type : {"<c8", "<f16", "<U3", "|S2", "|O", "<M8[ns]", "|V2", "f4",
                                      "=f4", "<f", "", "<f4 ", "<\xff"}) {
    CAPTURE(type);
    const Error error = npy_error_of(npy(type, "(1,)", std::string(16, '\0')));
    CHECK(error.message.find(fmt::format("of type '{}'", type)) != std::string::npos);
    CHECK(error.message.find("float32") != std::string::npos);
  }
  const std::string records =
      "{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (1,), }\n";
  CHECK(npy_error_of(npy_of(records, std::string(8, '\0'))).message.find("records") !=
        std::string::npos);
}

TEST_CASE("files that are cut off, anywhere") {
  const std::string whole = npy("<f4", "(2, 3)", std::string(24, 'x'));
  REQUIRE(read(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const Error error = npy_error_of(whole.substr(0, size));
    CHECK(error.place.offset.has_value());
    CHECK(*error.place.offset <= size);
  }
  check_npy_says(whole.substr(0, 7), "too short", 0);
  check_npy_says(whole.substr(0, 40), "its header should have", 40);
  check_npy_says(whole.substr(0, whole.size() - 1), "23 bytes follow its header, where 6 elements",
                 whole.size() - 24);
  check_npy_says(whole + 'x', "25 bytes follow its header", whole.size() - 24);
}

TEST_CASE("headers that are not NumPy's") {
  check_npy_says("\x93NUMPX\1" + std::string(100, ' '), "begins otherwise", 0);
  check_npy_says(npy_of("{}", "", 4), "version 4", 6);
  check_npy_says(npy_of("{}", "", 0), "version 0", 6);
  const auto says = [](const std::string& text, std::string_view words) {
    CAPTURE(text);
    const Error error = npy_error_of(npy_of(text, std::string(4, '\0')));
    INFO(error.message);
    CHECK(error.message.find(words) != std::string::npos);
    CHECK(error.place.offset.has_value());
  };
  const std::string type = "'descr': '<f4', ";
  const std::string order = "'fortran_order': False, ";
  const std::string shape = "'shape': (1,)";
  REQUIRE(read(npy_of('{' + type + order + shape + '}', std::string(4, '\0'))).has_value());
  says("", "'{' is missing");
  says("[]", "'{' is missing");
  says("{}", "no 'descr'");
  says('{' + type + shape + '}', "no 'fortran_order'");
  says('{' + type + order + '}', "no 'shape'");
  says('{' + type + type + order + shape + '}', "'descr' twice");
  says('{' + type + order + shape + ", 'more': 1}", "'more' does not belong");
  says('{' + type + order + shape + "} x", "something follows");
  says('{' + type + order + shape, "'}' is missing");
  says('{' + type + order + "'shape': 1}", "'(' is missing");
  says('{' + type + order + "'shape': (1", "')' is missing");
  says('{' + type + order + "'shape': (-1,)}", "no extent");
  says('{' + type + order + "'shape': (1.5,)}", "')' is missing");
  says('{' + type + order + "'shape': (x,)}", "no extent");
  says('{' + type + order + "'shape': (99999999999999999999,)}", "no extent");
  says('{' + type + order + "'shape': (4294967296, 4294967296)}", "can be counted");
  says('{' + type + "'fortran_order': 1, " + shape + '}', "neither True nor False");
  says("{'descr': 3, " + order + shape + '}', "a string is missing");
  says("{'descr' '<f4', " + order, "':' is missing");
  says("{'descr", "does not end");
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1, ";
  says('{' + type + order + "'shape': (" + axes + ")}", "more than 64 axes");
}

TEST_CASE("what a header claims is not believed before the file has it") {
  // 2^62 elements of 4 bytes each in a file of a few; a header of 4 GiB.
  check_npy_says(npy("<f4", "(4611686018427387904,)", "1234"), "4 bytes follow its header", 128);
  std::string long_header = "\x93NUMPY\2";
  long_header += '\0';
  check_npy_says(long_header + "\xff\xff\xff\xff" + std::string(100, ' '), "4294967295 bytes", 8);
}

TEST_CASE("a file that is not there, or is none") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder / "none.npy", folder.path()}) {
    const auto tensor = read_npy(path);
    REQUIRE_FALSE(tensor.has_value());
    CHECK(tensor.error().code == ErrorCode::io);
    CHECK(tensor.error().place.file == path);
  }
}

TEST_CASE("what is written is NumPy's version 1.0") {
  const TemporaryFolder folder;
  REQUIRE(write_npy(folder / "a.npy", floats({2, 1}, {1.0F, -2.0F})).has_value());
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  std::string expected("\x93NUMPY\1\0\x76\0",
                       10);  // 0x76 bytes, so that 128 come before the elements
  expected += text + std::string(0x75 - text.size(), ' ') + '\n';
  expected += std::string("\0\0\x80\x3f\0\0\0\xc0", 8);
  CHECK(folder.read("a.npy") == expected);

  REQUIRE(write_npy(folder / "a.npy", floats(Shape::scalar(), {1.0F})).has_value());
  CHECK(folder.read("a.npy").find("'shape': (), }") != std::string::npos);
  REQUIRE(
      write_npy(folder / "a.npy", tensor_of<std::int8_t>(ElementType::int8, {1}, {1})).has_value());
  CHECK(folder.read("a.npy").find("'descr': '|i1', 'fortran_order': False, 'shape': (1,), }") !=
        std::string::npos);
  CHECK(folder.names().size() == 1);
}

TEST_CASE("what is written reads back the same") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.npy";
  const auto check = [&](const Tensor& tensor) {
    REQUIRE(write_npy(path, tensor).has_value());
    const auto again = read_npy(path);
    REQUIRE(again.has_value());
    CHECK(same(*again, tensor));
  };
  check(floats({2, 3}, {1, 2, 3, 4, 5, std::numeric_limits<float>::infinity()}));
  check(floats({0, 3}, {}));
  check(tensor_of<std::uint8_t>(ElementType::boolean, {2}, {0, 1}));
  check(tensor_of<std::int8_t>(ElementType::int8, {1, 1}, {-128}));
  check(tensor_of<std::uint8_t>(ElementType::uint8, {1}, {255}));
  check(tensor_of<std::int16_t>(ElementType::int16, {2}, {INT16_MIN, 1}));
  check(tensor_of<std::uint16_t>(ElementType::uint16, {1}, {0xfffe}));
  check(tensor_of<std::int32_t>(ElementType::int32, {1}, {INT32_MIN}));
  check(tensor_of<std::uint32_t>(ElementType::uint32, {1}, {0xfffffffe}));
  check(tensor_of<std::int64_t>(ElementType::int64, {1}, {INT64_MIN}));
  check(tensor_of<std::uint64_t>(ElementType::uint64, Shape::scalar(), {UINT64_MAX}));
  check(tensor_of<std::uint16_t>(ElementType::float16, {2}, {0x3c00, 0x7e01}));
  check(tensor_of<double>(ElementType::float64, {1}, {0.1}));
}

TEST_CASE("types that NumPy has not are written as those that hold them") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.npy";
  const auto written = [&](const Tensor& tensor) {
    REQUIRE(write_npy(path, tensor).has_value());
    return read_npy(path).value();
  };
  // 0x3fc0 is 1.5, the upper half of its float32.
  CHECK(same(written(tensor_of<std::uint16_t>(ElementType::bfloat16, {2}, {0x3fc0, 0xc000})),
             floats({2}, {1.5F, -2.0F})));
  CHECK(same(written(tensor_of<std::int8_t>(ElementType::int4, {2}, {-8, 7})),
             tensor_of<std::int8_t>(ElementType::int8, {2}, {-8, 7})));
  CHECK(same(written(tensor_of<std::uint8_t>(ElementType::uint4, {2}, {0, 15})),
             tensor_of<std::uint8_t>(ElementType::uint8, {2}, {0, 15})));
}

TEST_CASE("what cannot be written leaves nothing") {
  const TemporaryFolder folder;
  CHECK(write_npy(folder / "a.npy", Tensor()).error().code == ErrorCode::impossible);
  CHECK(write_npy(folder / "none/a.npy", floats({1}, {1})).error().code == ErrorCode::io);
  CHECK(folder.names().size() == 0);
}
