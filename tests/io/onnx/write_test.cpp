// Graphs to models.
#include <algorithm>
#include <thread>

#include "ir/scales.hpp"
#include "model_helpers.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace onnx_test;

namespace {

/// Two threads, pieces in the wrong order.
class BackwardExecutor final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    std::thread other([&] {
      for (std::size_t i = count; i-- > 0;) {
        if (i % 2 == 1) body(i);
      }
    });
    for (std::size_t i = count; i-- > 0;) {
      if (i % 2 == 0) body(i);
    }
    other.join();
  }
};

/// Contents that cannot be had.
class BrokenSource final : public ConstantSource {
 public:
  Expected<void> read(std::uint64_t, std::span<std::byte>) const override {
    return fail(ErrorCode::io, "the disk is gone");
  }
};

Graph graph_by_hand(const Constant& weights) {
  Graph graph;
  const Value x = graph.add_input("x", {ElementType::float32, {2, 3}, nullptr});
  const Value w = graph.add_constant("w", weights);
  const NodeId product = graph.add({.kind = "matmul",
                                    .name = "dense",
                                    .operands = {x, w},
                                    .results = {{"h", {ElementType::float32, {2, 2}, nullptr}}}});
  graph.add_output("y", {product});
  return graph;
}

Constant some_weights() {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  return Constant::from_values(ElementType::float32, Shape{3, 2}, std::span<const float>(values));
}

}  // namespace

TEST_CASE("a model that is read and written is the same, byte for byte the second time") {
  const Folder folder;
  const Graph first = read_bytes(folder, model(matmul_parts()));
  REQUIRE(write_onnx(first, folder / "first.onnx"));
  const auto second = read_onnx(folder / "first.onnx");
  REQUIRE(second);
  CHECK(print_graph(first) == print_graph(*second));
  REQUIRE(write_onnx(*second, folder / "second.onnx"));
  CHECK(contents_of(folder / "first.onnx") == contents_of(folder / "second.onnx"));
}

TEST_CASE("a graph that was made by hand") {
  const Folder folder;
  const Graph graph = graph_by_hand(some_weights());
  const auto report = write_onnx(graph, folder / "out.onnx");
  REQUIRE(report);
  CHECK(report->opset_written == 17);
  CHECK(report->model_bytes == std::filesystem::file_size(folder / "out.onnx"));
  const auto read = read_onnx(folder / "out.onnx");
  REQUIRE(read);
  CHECK(read->attributes().get_or<std::string>("onnx.graph_name", "") == "quadrant");
  CHECK(read->find_value("h").is_absent());  // an output's value has the output's name
  CHECK(read->kind(read->find_value("y").node) == "matmul");
  CHECK(read->type(read->find_value("y")).shape == Shape{2, 2});
}

TEST_CASE("outputs of the same value, of an input and of a constant") {
  const Folder folder;
  Graph graph = graph_by_hand(some_weights());
  graph.add_output("again", graph.find_value("h"));
  graph.add_output("same_input", graph.find_value("x"));
  graph.add_output("weights", graph.find_value("w"));
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  const auto read = read_onnx(folder / "out.onnx");
  REQUIRE(read);
  std::vector<std::string> names;
  for (const NodeId output : read->outputs()) names.emplace_back(read->name(output));
  CHECK(names == std::vector<std::string>{"y", "again", "same_input", "weights"});
  CHECK(read->kind(read->find_value("again").node) == "identity");
}

TEST_CASE("outputs that share a name, or have that of an input, get their own values") {
  const Folder folder;
  Graph graph = graph_by_hand(some_weights());
  graph.add_output("y", graph.find_value("h"));
  graph.add_output("", graph.find_value("h"));
  graph.add_output("x", graph.find_value("x"));
  graph.add_output("y_1", graph.find_value("w"));
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  const auto read = read_onnx(folder / "out.onnx");
  REQUIRE(read);
  std::vector<std::string> names;
  for (const NodeId output : read->outputs()) names.emplace_back(read->name(output));
  CHECK(names == std::vector<std::string>{"y", "y_2", "y_3", "x_1", "y_1"});
  for (const char* const name : {"y_2", "y_3", "x_1", "y_1"}) {
    CHECK(read->kind(read->find_value(name).node) == "identity");
  }
  CHECK(read->kind(read->find_value("x").node) == "input");
}

TEST_CASE("an input of 4 bits that is an output stays one: ONNX Runtime has no Identity for it") {
  const Folder folder;
  Graph graph;
  graph.attributes().set("onnx.opset_domains", std::vector<std::string>{""});
  graph.attributes().set("onnx.opset_versions", std::vector<std::int64_t>{21});
  graph.add_output("x", graph.add_input("x", {ElementType::int4, {2}, nullptr}));
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  const auto read = read_onnx(folder / "out.onnx");
  REQUIRE(read);
  CHECK(read->kind(read->operands(read->outputs().front())[0].node) == "input");
}

TEST_CASE("an input that a file has as an output stays one") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.outputs.push_back(value_info("x", {2, 3}));
  const Graph graph = read_bytes(folder, model(parts));
  REQUIRE(write_onnx(graph, folder / "first.onnx"));
  const auto read = read_onnx(folder / "first.onnx");
  REQUIRE(read);
  CHECK(read->kind(read->operands(read->outputs().back())[0].node) == "input");
  REQUIRE(write_onnx(*read, folder / "second.onnx"));
  CHECK(contents_of(folder / "first.onnx") == contents_of(folder / "second.onnx"));
}

TEST_CASE("an output has the name of another value") {
  const Folder folder;
  Graph graph = graph_by_hand(some_weights());
  graph.set_value_name(graph.find_value("w"), "y");
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  const auto read = read_onnx(folder / "out.onnx");
  REQUIRE(read);
  CHECK(read->kind(read->find_value("y").node) == "matmul");
}

TEST_CASE("kinds that ONNX does not have") {
  const Folder folder;
  Graph graph = graph_by_hand(some_weights());
  graph.add({.kind = "teleport", .name = "beam", .results = {{"z", {}}}});
  const auto report = write_onnx(graph, folder / "out.onnx");
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::impossible);
  CHECK(contains(report.error().message, "'teleport'"));
  CHECK(report.error().place.node == "beam");
  CHECK(folder.names().empty());
}

TEST_CASE("nothing appears when writing fails") {
  const Folder folder;
  folder.write("out.onnx", "what was there before");
  const Graph graph = graph_by_hand(
      Constant::deferred(ElementType::float32, Shape{3, 2}, std::make_shared<BrokenSource>()));
  const auto failed = write_onnx(graph, folder / "out.onnx");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::io);
  CHECK(contains(failed.error().message, "the disk is gone"));
  OnnxWriteOptions options;
  options.external_from = 1;
  CHECK_FALSE(write_onnx(graph, folder / "out.onnx", options));
  CHECK(folder.names() == std::vector<std::string>{"out.onnx"});
  CHECK(contents_of(folder / "out.onnx") == "what was there before");
}

TEST_CASE("places that cannot be written") {
  const Folder folder;
  const Graph graph = graph_by_hand(some_weights());
  for (const std::string& path :
       {folder / "missing/out.onnx", folder / ".", std::string("/dev/null")}) {
    const auto report = write_onnx(graph, path);
    CAPTURE(path);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::io);
  }
  CHECK_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

TEST_CASE("a model is written over itself") {
  const Folder folder;
  const std::string path = folder.write("model.onnx", model(matmul_parts()).bytes());
  for (int round = 0; round < 3; ++round) {
    const auto graph = read_onnx(path);
    REQUIRE(graph);
    REQUIRE(write_onnx(*graph, path));
  }
  const auto graph = read_onnx(path);
  REQUIRE(graph);
  CHECK(values_of<float>(*graph->constant(graph->find_value("w").node)) ==
        std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(folder.names() == std::vector<std::string>{"model.onnx"});
}

TEST_CASE("the bytes do not depend on the executor, and progress reaches the end") {
  const Folder folder;
  constexpr std::int64_t count = 5'000'000;  // 20 MB: several batches of several pieces
  std::vector<float> values(count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Graph graph = graph_by_hand(Constant::from_values(ElementType::float32, Shape{count / 2, 2},
                                                          std::span<const float>(values)));
  Notes notes;
  BackwardExecutor executor;
  REQUIRE(write_onnx(graph, folder / "one.onnx"));
  const auto report =
      write_onnx(graph, folder / "two.onnx", {.executor = &executor, .sink = &notes});
  REQUIRE(report);
  CHECK(contents_of(folder / "one.onnx") == contents_of(folder / "two.onnx"));
  CHECK(notes.last_done == report->model_bytes);
  CHECK(notes.last_total == report->model_bytes);
}

TEST_CASE("a data file beside the model") {
  const Folder folder;
  const Graph graph = graph_by_hand(some_weights());
  OnnxWriteOptions options;
  options.external_from = 24;
  const auto report = write_onnx(graph, folder / "out.onnx", options);
  REQUIRE(report);
  CHECK(report->external_bytes == 24);
  auto names = folder.names();
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{report->external_file, "out.onnx"});
  const auto read = read_onnx(folder / "out.onnx");
  REQUIRE(read);
  CHECK(values_of<float>(*read->constant(read->find_value("w").node)) ==
        std::vector<float>{1, 2, 3, 4, 5, 6});
  // The same contents, the same name; and all inline again.
  CHECK(write_onnx(graph, folder / "out.onnx", options)->external_file == report->external_file);
  options.external_from = 25;
  CHECK(write_onnx(*read, folder / "out.onnx", options)->external_file.empty());
}

TEST_CASE("4-bit constants go two to a byte") {
  const Folder folder;
  std::vector<std::int8_t> codes{1, 2, -8, -1, 7, 0};
  Graph graph;
  graph.add_output(
      "w", graph.add_constant("w", Constant::from_values(ElementType::int4, Shape{3, 2},
                                                         std::span<const std::int8_t>(codes))));
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  CHECK(contains(contents_of(folder / "out.onnx"), std::string("\x4a\x03\x21\xf8\x07")));
  const auto read = read_onnx(folder / "out.onnx");
  REQUIRE(read);
  CHECK(values_of<std::int8_t>(*read->constant(read->find_value("w").node)) == codes);
}

namespace {

/// y = x + dequantize(w), of a w of 5 codes of 2 bits with a zero point, as other tools write it.
GraphParts two_bit_parts() {
  GraphParts parts;
  parts.nodes = {node("DequantizeLinear", {"w", "s", "z"}, {"r"}), node("Add", {"x", "r"}, {"y"})};
  parts.initializers = {tensor("w", 26, {5}).text(9, "\xe4\x01"), floats("s", {}, {0.5F}),
                        tensor("z", 26, {}).text(9, "\x03")};
  parts.inputs = {value_info("x", {5})};
  parts.outputs = {value_info("y", {5})};
  return parts;
}

}  // namespace

TEST_CASE("2-bit weights of a file stay so, in the model and beside it") {
  const Folder folder;
  const Graph graph = read_bytes(folder, model(two_bit_parts(), 25));
  const Value w = graph.find_value("w");
  CHECK(*read_zero_points(*graph.type(w).uniform()) == std::vector<std::int64_t>{-1});
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  CHECK(contains(contents_of(folder / "out.onnx"), std::string("\x4a\x02\xe4\x01")));
  OnnxWriteOptions options;
  options.external_from = 2;
  const auto report = write_onnx(graph, folder / "beside.onnx", options);
  REQUIRE(report);
  CHECK(contents_of(folder / report->external_file).starts_with("\xe4\x01"));
  for (const char* const name : {"out.onnx", "beside.onnx"}) {
    const auto read = read_onnx(folder / name);
    REQUIRE(read);
    CHECK(values_of<std::int8_t>(*read->constant(read->find_value("w").node)) ==
          std::vector<std::int8_t>{0, 1, -2, -1, 1});
    REQUIRE(write_onnx(*read, folder / "again.onnx"));
    CHECK(contents_of(folder / "again.onnx") == contents_of(folder / "out.onnx"));
  }
}

TEST_CASE("a weight that was of 2 bits in the file and has others now is written as what it is") {
  const Folder folder;
  Graph graph = read_bytes(folder, model(two_bit_parts(), 25));
  const Value w = graph.find_value("w");
  // Another meaning, of 8 bits.
  UniformType wide = *graph.type(w).uniform();
  wide.storage = ElementType::int8;
  wide.storage_bits = 0;
  wide.storage_min = -128;
  wide.storage_max = 127;
  wide.zero_points = {};
  const std::vector<std::int8_t> codes{100, 1, -2, -100, 1};
  graph.set_constant(
      w.node,
      Constant::from_values(ElementType::int8, Shape{5}, std::span<const std::int8_t>(codes)),
      std::make_shared<const UniformType>(wide));
  REQUIRE(write_onnx(graph, folder / "wide.onnx"));
  const auto read = read_onnx(folder / "wide.onnx");
  REQUIRE(read);
  CHECK(values_of<std::int8_t>(*read->constant(read->find_value("w").node)) == codes);
}

TEST_CASE("new nodes stand before their first users") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(node("Relu", {"y"}, {"z"}, "last"));
  Graph graph = read_bytes(folder, model(parts));
  const NodeId dense = graph.find_value("y").node;
  const NodeId made = graph.add({.kind = "onnx.Neg",
                                 .name = "made",
                                 .operands = {graph.operands(dense)[0]},
                                 .results = {{"n", {}}}});
  graph.set_operand(dense, 0, {made});
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  const std::string bytes = contents_of(folder / "out.onnx");
  CHECK(bytes.find("made") < bytes.find("dense"));
  CHECK(bytes.find("dense") < bytes.find("last"));
}

TEST_CASE("a value that subgraphs refer to must keep its name") {
  const Folder folder;
  GraphParts branch;
  branch.nodes = {node("Neg", {"w"}, {"out"})};
  branch.outputs = {value_info("out", {})};
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(
      node("If", {"y"}, {"z"}, "branch")
          .message(
              5,
              Fields().text(1, "then_branch").message(6, onnx_test::graph(branch)).integer(20, 5)));
  Graph graph = read_bytes(folder, model(parts));
  REQUIRE(write_onnx(graph, folder / "out.onnx"));
  graph.set_value_name(graph.find_value("w"), "renamed");
  const auto report = write_onnx(graph, folder / "out.onnx");
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::impossible);
  CHECK(report.error().place.node == "branch");
  CHECK(contains(report.error().message, "'w', which is now called 'renamed'"));
}

TEST_CASE(
    "an operator that the opset does not have is raised to one that has it, or refused by name") {
  const Folder folder;
  const auto cast_to = [](ElementType element, std::int64_t number) {
    Graph graph;
    const Value x = graph.add_input("x", {ElementType::float32, {2, 3}, nullptr});
    Attributes attributes;
    attributes.set("to", number);
    const NodeId cast = graph.add({.kind = "onnx.Cast",
                                   .name = "narrow",
                                   .operands = {x},
                                   .results = {{"h", {element, {2, 3}, nullptr}}},
                                   .attributes = std::move(attributes)});
    graph.add_output("y", {cast});
    return graph;
  };
  const auto raised = write_onnx(cast_to(ElementType::float8e4m3, 17), folder / "raised.onnx");
  REQUIRE(raised);
  CHECK(raised->opset_written == 21);  // Cast has float8 since 19
  CHECK(write_onnx(cast_to(ElementType::float16, 10), folder / "old.onnx")->opset_written == 17);
  const auto refused = write_onnx(cast_to(ElementType::float4e2m1, 23), folder / "refused.onnx");
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().place.node == "narrow");
  CHECK(refused.error().message.find("needs opset 23, the model has 17") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "refused.onnx"));
}
