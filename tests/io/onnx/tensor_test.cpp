// The ways in which a TensorProto can hold its elements.
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "model_helpers.hpp"
#include "quadrant/ir/ops.hpp"

using namespace onnx_test;

namespace {

/// The constant that an initializer becomes.
Constant constant_of(const Folder& folder, const Fields& initializer) {
  GraphParts parts;
  parts.initializers = {initializer};
  const Graph graph = read_bytes(folder, model(parts));
  const Constant* constant = graph.constant(graph.find_value("w").node);
  REQUIRE(constant != nullptr);
  CHECK(constant->is_deferred());
  return *constant;
}

/// One field per element, as writers do that do not pack.
Fields unpacked_integers(Fields tensor, std::uint32_t field, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) tensor.integer(field, i * 3 - 5);
  return tensor;
}

}  // namespace

TEST_CASE("raw and packed fixed-width elements are ranges of the file") {
  const Folder folder;
  CHECK(values_of<float>(constant_of(folder, floats("w", {2}, {1.5F, -2}))) ==
        std::vector<float>{1.5F, -2});
  CHECK(values_of<float>(
            constant_of(folder, tensor("w", float32, {2}).text(4, bytes_of({1.5F, -2.0F})))) ==
        std::vector<float>{1.5F, -2});
  CHECK(values_of<double>(constant_of(folder, tensor("w", 11, {1}).text(10, bytes_of({0.1})))) ==
        std::vector<double>{0.1});
  const Constant scalar = constant_of(folder, floats("w", {}, {7}));
  CHECK(scalar.shape() == Shape(std::vector<std::int64_t>{}));
  const Constant empty = constant_of(folder, tensor("w", float32, {0, 3}));
  CHECK(empty.byte_size() == 0);
  CHECK(values_of<float>(empty).empty());
}

TEST_CASE("unpacked floats, in several runs") {
  const Folder folder;
  Fields fields = tensor("w", float32, {5}).real(4, 1).real(4, 2);
  fields.text(12, "a doc string in between").real(4, 3).text(4, bytes_of({4.0F, 5.0F}));
  CHECK(values_of<float>(constant_of(folder, fields)) == std::vector<float>{1, 2, 3, 4, 5});
}

TEST_CASE("varints") {
  const Folder folder;
  CHECK(values_of<std::int64_t>(
            constant_of(folder, tensor("w", int64, {3}).packed(7, {1, -1, INT64_MIN}))) ==
        std::vector<std::int64_t>{1, -1, INT64_MIN});
  CHECK(values_of<std::int8_t>(constant_of(folder, tensor("w", 3, {3}).packed(5, {1, -1, 127}))) ==
        std::vector<std::int8_t>{1, -1, 127});
  CHECK(values_of<std::uint16_t>(
            constant_of(folder, tensor("w", 10, {2}).packed(5, {0x3c00, 0xbc00}))) ==
        std::vector<std::uint16_t>{0x3c00, 0xbc00});
  CHECK(values_of<std::uint8_t>(constant_of(folder, tensor("w", 9, {2}).packed(5, {0, 1}))) ==
        std::vector<std::uint8_t>{0, 1});
  CHECK(values_of<std::uint32_t>(
            constant_of(folder, tensor("w", 12, {1}).packed(11, {0xffffffff}))) ==
        std::vector<std::uint32_t>{0xffffffff});
  CHECK(
      values_of<std::int32_t>(constant_of(folder, unpacked_integers(tensor("w", 6, {3}), 5, 3))) ==
      std::vector<std::int32_t>{-5, -2, 1});
}

TEST_CASE("long varint tensors are read from anywhere") {
  const Folder folder;
  constexpr std::int64_t count = 20000;
  const Constant constant =
      constant_of(folder, unpacked_integers(tensor("w", int64, {count}), 7, count));
  const auto whole = values_of<std::int64_t>(constant);
  for (std::int64_t i = 0; i < count; ++i) REQUIRE(whole[static_cast<std::size_t>(i)] == i * 3 - 5);
  for (const std::uint64_t offset : {0U, 3U, 8U * 4095U, 8U * 4096U + 5U, 8U * 19999U}) {
    std::byte bytes[8];
    const std::uint64_t size = std::min<std::uint64_t>(8, constant.byte_size() - offset);
    REQUIRE(constant.read(offset, std::span(bytes).first(size)));
    CHECK(std::memcmp(bytes, reinterpret_cast<const char*>(whole.data()) + offset, size) == 0);
  }
}

TEST_CASE("4-bit elements take a byte each") {
  const Folder folder;
  const Constant with_sign = constant_of(folder, tensor("w", 22, {5}).text(9, "\x21\xf8\x07"));
  CHECK(with_sign.element() == ElementType::int4);
  CHECK(values_of<std::int8_t>(with_sign) == std::vector<std::int8_t>{1, 2, -8, -1, 7});
  const Constant without_sign = constant_of(folder, tensor("w", 21, {3}).packed(5, {0x21, 0x0f}));
  CHECK(values_of<std::uint8_t>(without_sign) == std::vector<std::uint8_t>{1, 2, 15});
  std::byte part[3];
  REQUIRE(with_sign.read(1, part));
  CHECK(part[0] == std::byte{2});
  CHECK(part[1] == std::byte{0xf8});
  CHECK(part[2] == std::byte{0xff});
}

TEST_CASE("2-bit codes of a DequantizeLinear take a byte each") {
  const Folder folder;
  struct Case {
    std::int64_t data_type;
    Fields contents;
    std::vector<std::int8_t> codes;
  };
  // The first in the lowest bits; 5 of them leave three quarters of a byte.
  for (const Case& test : {Case{26, tensor("w", 26, {5}).text(9, "\xe4\x01"), {0, 1, -2, -1, 1}},
                           Case{26, tensor("w", 26, {5}).packed(5, {0xe4, 2}), {0, 1, -2, -1, -2}},
                           Case{25, tensor("w", 25, {5}).text(9, "\xe4\x03"), {0, 1, 2, 3, 3}}}) {
    GraphParts parts;
    parts.nodes = {node("DequantizeLinear", {"w", "s"}, {"y"})};
    parts.initializers = {test.contents, floats("s", {}, {0.5F})};
    parts.outputs = {value_info("y", {5})};
    const Graph graph = read_bytes(folder, model(parts, 25));
    const Value w = graph.find_value("w");
    const Constant* const constant = graph.constant(w.node);
    REQUIRE(constant != nullptr);
    CHECK(values_of<std::int8_t>(*constant) == test.codes);
    CHECK(declared_bits(*graph.type(w).uniform()) == 2);
    // From anywhere, of any length.
    for (std::size_t first = 0; first < test.codes.size(); ++first) {
      for (std::size_t count = 1; count <= test.codes.size() - first; ++count) {
        std::vector<std::byte> part(count);
        REQUIRE(constant->read(first, part));
        for (std::size_t i = 0; i < count; ++i) {
          CHECK(static_cast<std::int8_t>(part[i]) == test.codes[first + i]);
        }
      }
    }
  }
}

TEST_CASE("2-bit codes of which there are not as many as the file says are no codes") {
  const Folder folder;
  for (const std::string_view contents : {"\xe4", "\xe4\x01\x01"}) {
    GraphParts parts;
    parts.nodes = {node("DequantizeLinear", {"w", "s"}, {"y"})};
    parts.initializers = {tensor("w", 26, {5}).text(9, contents), floats("s", {}, {0.5F})};
    parts.outputs = {value_info("y", {5})};
    const Graph graph = read_bytes(folder, model(parts, 25));
    CHECK(graph.kind(graph.find_value("w").node) == "onnx.initializer");
    CHECK(graph.kind(graph.find_value("y").node) == "onnx.DequantizeLinear");
  }
}

TEST_CASE("types that are only carried") {
  const Folder folder;
  GraphParts parts;
  parts.initializers = {tensor("strings", 8, {2}).text(6, "a").text(6, "b"),
                        tensor("float8", 17, {1}).text(9, "1"),
                        tensor("later", 30, {1}).text(9, "1")};
  const Graph graph = read_bytes(folder, model(parts));
  for (const auto& [name, element] : {std::pair("strings", ElementType::opaque),
                                      {"float8", ElementType::float8e4m3},
                                      {"later", ElementType::opaque}}) {
    const Value value = graph.find_value(name);
    CHECK(graph.kind(value.node) == "onnx.initializer");
    CHECK(graph.type(value).element == element);
  }
  CHECK(graph.type(graph.find_value("strings")).shape == Shape{2});
}

TEST_CASE("contents that are not asked for are not loaded") {
  const Folder folder;
  constexpr std::uint64_t size = std::uint64_t{3} << 30U;  // a hole: takes no disk
  // The length of every message around the contents counts them.
  const Fields head = tensor("w", float32, {static_cast<std::int64_t>(size / 4)});
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 128; value >>= 7U) bytes += static_cast<char>(value | 128U);
    return bytes + static_cast<char>(value);
  };
  const std::string raw_header = "\x4a" + varint(size);
  const std::uint64_t tensor_size = head.bytes().size() + raw_header.size() + size;
  const std::string tensor_header = "\x2a" + varint(tensor_size);
  const std::string graph_header = "\x3a" + varint(tensor_header.size() + tensor_size);
  const std::string front = Fields().integer(1, 8).message(8, Fields().integer(2, 17)).bytes() +
                            graph_header + tensor_header + head.bytes() + raw_header;
  const std::string path = folder.write("large.onnx", front);
  std::filesystem::resize_file(path, front.size() + size);

  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const auto graph = read_onnx(path);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  REQUIRE(graph);
  CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
  const Constant& constant = *graph->constant(graph->find_value("w").node);
  CHECK(constant.byte_size() == size);
  std::byte last[4];
  REQUIRE(constant.read(size - 4, last));
}
