// Files that are damaged or mean harm: each is one Error that says what and where.
#include <sys/resource.h>

#include <ctime>

#include "model_helpers.hpp"
#include "shortened.hpp"

using namespace onnx_test;

namespace {

void check_refused(const Fields& hostile, std::string_view message, std::string_view place = {}) {
  const Folder folder;
  const Error error = error_of(folder, hostile);
  CAPTURE(to_string(error));
  CHECK(error.code == ErrorCode::invalid_model);
  CHECK(contains(error.message, message));
  CHECK(contains(to_string(error.place), "model.onnx"));
  CHECK(contains(to_string(error.place), place));
}

void check_tensor_refused(const Fields& hostile, std::string_view message) {
  GraphParts parts = matmul_parts();
  parts.initializers = {hostile};
  check_refused(model(parts), message, "tensor 'w'");
}

}  // namespace

TEST_CASE("files that are no models") {
  const Folder folder;
  CHECK(contains(error_of(folder, "").message, "empty"));
  CHECK(contains(error_of(folder, "This is a text file, not a model.\n").message,
                 "not a well-formed ONNX model"));
  CHECK(contains(error_of(folder, std::string(64, '\0')).message, "impossible field number"));
  CHECK(contains(error_of(folder, Fields().integer(1, 8)).message, "no graph"));
  const auto missing = read_onnx(folder / "missing.onnx");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::io);
  CHECK(contains(missing.error().message, "No such file"));
  const auto directory = read_onnx(folder / ".");
  REQUIRE_FALSE(directory);
  CHECK(directory.error().code == ErrorCode::io);
  CHECK(contains(directory.error().message, "not a regular file"));
}

TEST_CASE("a model cut off anywhere is refused") {
  const Folder folder;
  const std::string whole = model(matmul_parts()).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const auto graph = read_onnx(folder.write("model.onnx", whole.substr(0, size)));
    REQUIRE_FALSE(graph);
    CHECK(graph.error().code == ErrorCode::invalid_model);
  }
}

TEST_CASE("changed bytes never do harm") {
  const Folder folder;
  const std::string whole = model(matmul_parts()).bytes();
  std::uint32_t state = 1;
  const auto random = [&state] { return state = state * 1664525U + 1013904223U, state >> 8U; };
  for (int round = 0; round < 3000; ++round) {
    std::string changed = whole;
    for (std::uint32_t i = random() % 4 + 1; i > 0; --i) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    const auto graph = read_onnx(folder.write("model.onnx", changed));
    if (graph) {
      (void)write_onnx(*graph, folder / "out.onnx");
    } else {
      CHECK_FALSE(graph.error().message.empty());
    }
  }
}

TEST_CASE("lengths beyond the end") {
  check_refused(Fields().raw("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "beyond the end",
                "byte 0");
  // A length whose lower 32 bits would fit.
  check_refused(Fields().raw("\x3a\x85\x80\x80\x80\x10gggggg"), "beyond the end", "byte 0");
  check_refused(Fields().raw("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "10 bytes");
  check_refused(Fields().raw("\x0b"), "wire type 3");
  check_refused(Fields().text(1, "not a number"), "no integer");
}

TEST_CASE("opsets that are not supported") {
  check_refused(model(matmul_parts(), 6), "opset 6 of the default domain; 7 to 28 are supported");
  check_refused(model(matmul_parts(), 29), "opset 29");
  check_refused(Fields().integer(1, 3).message(7, graph(matmul_parts())), "no opset");
}

TEST_CASE("tensors that contradict themselves") {
  check_tensor_refused(tensor("w", float32, {3, -2}), "dimension of -2");
  check_tensor_refused(tensor("w", float32, {INT64_MAX, INT64_MAX}), "more elements");
  check_tensor_refused(tensor("w", float32, {INT64_MAX / 8}), "more elements");
  check_tensor_refused(tensor("w", float32, {1000000, 1000000}), "no contents");
  check_tensor_refused(tensor("w", float32, {3, 2}), "no contents");
  check_tensor_refused(tensor("w", float32, {3, 2}).text(9, "1234"), "4 bytes where");
  check_tensor_refused(tensor("w", 12345, {3, 2}), "unknown data type 12345");
  check_tensor_refused(Fields().integer(1, 3).text(8, "w"), "no data type");
  check_tensor_refused(tensor("w", float32, {2}).packed(7, {1, 2}), "does not belong");
  check_tensor_refused(tensor("w", int64, {3}).packed(7, {1, 2}), "2 elements where");
  check_tensor_refused(tensor("w", int64, {1}).packed(7, {1, 2}), "more elements than the 1");
  check_tensor_refused(tensor("w", int64, {2}).text(7, "\x01\xff"), "cut off");
  check_tensor_refused(floats("w", {1}, {1}).text(4, bytes_of({1.0F})), "both in raw_data");
  check_tensor_refused(tensor("w", float32, {2}).text(4, "12345"), "5 bytes where");
  check_tensor_refused(tensor("w", int64, {2}).packed(7, {1}).text(4, bytes_of({1.0F})),
                       "two fields");
}

TEST_CASE("external data outside") {
  const auto external = [](std::string_view location, std::string_view offset = {},
                           std::string_view length = {}) {
    Fields fields = tensor("w", float32, {3, 2}).integer(14, 1);
    fields.message(13, Fields().text(1, "location").text(2, location));
    if (!offset.empty()) fields.message(13, Fields().text(1, "offset").text(2, offset));
    if (!length.empty()) fields.message(13, Fields().text(1, "length").text(2, length));
    GraphParts parts = matmul_parts();
    parts.initializers = {fields};
    return model(parts);
  };
  check_refused(external("/etc/passwd"), "not a path inside the model's folder", "tensor 'w'");
  check_refused(external("../secret"), "not a path inside the model's folder");
  check_refused(external("a/../../secret"), "not a path inside the model's folder");
  check_refused(external(""), "not a path inside the model's folder");
  check_refused(external(std::string_view("a\0b", 3)), "not a path inside");

  const Folder folder;
  folder.write("data.bin", std::string(24, 'x'));
  CHECK(read_onnx(folder.write("good.onnx", external("data.bin").bytes())));
  CHECK(read_onnx(folder.write("good.onnx", external("data.bin", "0", "24").bytes())));
  const auto message = [&](const Fields& fields) { return to_string(error_of(folder, fields)); };
  CHECK(contains(message(external("data.bin", "1")), "outside 'data.bin', which has 24"));
  CHECK(contains(message(external("data.bin", "18446744073709551615")), "outside"));
  CHECK(contains(message(external("data.bin", "-1")), "no size"));
  CHECK(contains(message(external("data.bin", "0", "23")), "23 bytes where"));
  const Error missing = error_of(folder, external("missing.bin"));
  CHECK(missing.code == ErrorCode::io);
  CHECK(contains(missing.place.file, "missing.bin"));
  CHECK(missing.place.tensor == "w");
}

TEST_CASE("names") {
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Relu", {"nothing"}, {"z"}, "last"));
  check_refused(model(parts), "its input 'nothing' is not defined", "node 'last'");

  parts = matmul_parts();
  parts.nodes.push_back(node("Relu", {"x"}, {"y"}));
  check_refused(model(parts), "the name 'y' is defined twice");

  parts = matmul_parts();
  parts.initializers.push_back(floats("w", {1}, {1}));
  check_refused(model(parts), "the name 'w' is defined twice");

  parts = matmul_parts();
  parts.outputs.push_back(value_info("z", {}));
  check_refused(model(parts), "the graph output 'z' is not defined");

  parts = matmul_parts();
  parts.initializers.push_back(floats("", {1}, {1}));
  check_refused(model(parts), "initializer without a name");

  parts = matmul_parts();
  parts.inputs.push_back(value_info("", {}));
  check_refused(model(parts), "input without a name");

  parts = matmul_parts();
  parts.nodes.push_back(node("", {"x"}, {"z"}, "odd"));
  check_refused(model(parts), "without an operator type", "node 'odd'");

  parts = matmul_parts();
  parts.nodes[0].message(5, int_attribute("a", 1)).message(5, int_attribute("a", 2));
  check_refused(model(parts), "the attribute 'a' is given twice", "node 'dense'");

  parts = matmul_parts();
  parts.nodes[0].message(5, int_attribute("", 1));
  check_refused(model(parts), "attribute without a name", "node 'dense'");
}

TEST_CASE("names in messages are made printable") {
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Relu", {"a\nb\x1b[31m\xff\xc3\xa9"}, {"z"}, std::string(5000, 'n')));
  check_refused(model(parts), "its input 'a\\x0ab\\x1b[31m\\xff\xc3\xa9' is not defined", "nnn...");
}

TEST_CASE("a cycle") {
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Add", {"x", "b"}, {"a"}, "first"));
  parts.nodes.push_back(node("Relu", {"a"}, {"b"}, "second"));
  check_refused(model(parts), "cycle", "node '");
}

TEST_CASE("facts that contradict each other") {
  GraphParts parts = matmul_parts();
  parts.inputs = {value_info("x", {2, 4})};
  check_refused(model(parts), "inner dimensions 4 and 3 differ", "node 'dense'");
}

TEST_CASE("subgraphs nested too deep end the reading, not the program") {
  // Built from the inside out in one buffer: each level is a node with a graph attribute.
  Fields inner = graph({});
  for (int level = 0; level < 3000; ++level) {
    const Fields attribute = Fields().text(1, "body").message(6, inner).integer(20, 5);
    GraphParts parts;
    parts.nodes = {node("Loop", {}, {"y"}).message(5, attribute)};
    inner = graph(parts);
  }
  check_refused(Fields().message(7, inner).message(8, Fields().integer(2, 17)),
                "nested deeper than 64");
}

TEST_CASE("deep nesting in parts that are not read") {
  // A type of a sequence of a sequence of ... is carried, whatever its depth.
  std::string nested;
  for (int level = 0; level < 20000; ++level) nested = Fields().text(1, nested).bytes();
  GraphParts parts = matmul_parts();
  parts.inputs.push_back(Fields().text(1, "deep").message(2, Fields().text(4, nested)));
  const Folder folder;
  CHECK(read_onnx(folder.write("model.onnx", model(parts).bytes())));
}

TEST_CASE("claims of size cost no memory") {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  for (const std::int64_t claimed : {std::int64_t{1} << 40, std::int64_t{1} << 58}) {
    check_tensor_refused(tensor("w", float32, {claimed}), "");
    check_tensor_refused(tensor("w", float32, {claimed}).text(9, "1234"), "");
    check_tensor_refused(tensor("w", int64, {claimed}).packed(7, {1}), "");
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
}

TEST_CASE("very many results that are left out are written again, in linear time") {
  const std::size_t count = test::shortened(std::size_t{200'000});
  Fields strange = node("Strange", {"x"}, {"y"});
  for (std::size_t i = 0; i < count; ++i) strange.text(2, "");
  GraphParts parts = matmul_parts();
  parts.nodes = {strange};
  const Folder folder;
  const auto graph = read_onnx(folder.write("model.onnx", model(parts).bytes()));
  REQUIRE(graph);
  const std::clock_t start = std::clock();
  REQUIRE(write_onnx(*graph, folder / "out.onnx"));
  // A second or two without optimization; searching the list for each of them takes minutes.
  CHECK(std::clock() - start < 20 * CLOCKS_PER_SEC);
  const auto again = read_onnx(folder / "out.onnx");
  REQUIRE(again);
  CHECK(again->result_count(again->find_value("y").node) == count + 1);
}
