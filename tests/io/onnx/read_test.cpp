// Models to graphs.
#include "model_helpers.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

using namespace onnx_test;

TEST_CASE("a model becomes a graph") {
  const Folder folder;
  const Graph graph = read_bytes(folder, model(matmul_parts()));
  CHECK(verify(graph));
  const NodeId dense = graph.find_value("y").node;
  CHECK(graph.kind(dense) == ops::MatMul::kind);
  CHECK(graph.name(dense) == "dense");
  REQUIRE(graph.operands(dense).size() == 2);
  CHECK(graph.kind(graph.operands(dense)[0].node) == ops::Input::kind);
  CHECK(graph.kind(graph.operands(dense)[1].node) == ops::Constant::kind);
  CHECK(graph.type(graph.find_value("x")).shape == Shape{2, 3});
  CHECK(graph.type(graph.find_value("y")).shape == Shape{2, 2});
  CHECK(graph.type(graph.find_value("y")).element == ElementType::float32);
  REQUIRE(graph.outputs().size() == 1);
  CHECK(graph.name(graph.outputs()[0]) == "y");
  CHECK(graph.attributes().get_or<std::int64_t>("onnx.ir_version", 0) == 8);
}

TEST_CASE("operators have kinds") {
  const Folder folder;
  GraphParts parts;
  parts.inputs = {value_info("x", {2, 3})};
  parts.nodes = {node("Identity", {"x"}, {"a"}), node("Relu", {"a"}, {"b"}),
                 node("Gelu", {"b"}, {"c"}).text(7, "com.microsoft"),
                 node("Identity", {"c"}, {"d"}).text(7, "ai.onnx"),
                 node("odd::Name", {"d"}, {"e"})};
  parts.outputs = {value_info("e", {})};
  const Graph graph = read_bytes(folder, model(parts));
  const auto kind = [&](std::string_view name) { return graph.kind(graph.find_value(name).node); };
  CHECK(kind("a") == "identity");
  CHECK(kind("b") == "onnx.Relu");
  CHECK(kind("c") == "onnx.com.microsoft::Gelu");
  CHECK(kind("d") == "identity");
}

TEST_CASE("attributes keep their order and types") {
  const Folder folder;
  GraphParts parts;
  parts.inputs = {value_info("x", {2, 3})};
  Fields op = node("Op", {"x"}, {"y"});
  op.message(5, Fields().text(1, "i").integer(3, -7).integer(20, 2));
  op.message(5, Fields().text(1, "f").real(2, 0.5F).integer(20, 1));
  op.message(5, Fields().text(1, "s").text(4, "text").integer(20, 3));
  op.message(5, Fields().text(1, "untyped").integer(8, 1).integer(8, 2));
  op.message(5, Fields().text(1, "packed").packed(8, {3, 4}).integer(20, 7));
  op.message(5, Fields().text(1, "zero").integer(20, 2));  // proto3 leaves a zero out
  op.message(5, Fields().text(1, "t").message(5, floats("", {1}, {2})).integer(20, 4));
  op.message(5, Fields().text(1, "wrong").integer(3, 1).integer(20, 1));
  parts.nodes = {op};
  parts.outputs = {value_info("y", {})};
  const Graph graph = read_bytes(folder, model(parts));
  const Attributes& attributes = graph.attributes(graph.find_value("y").node);
  std::vector<std::string> names;
  for (const auto& [name, value] : attributes) {
    if (!name.starts_with("onnx.")) names.push_back(name);
  }
  CHECK(names ==
        std::vector<std::string>{"i", "f", "s", "untyped", "packed", "zero", "t", "wrong"});
  CHECK(attributes.get_or<std::int64_t>("i", 0) == -7);
  CHECK(attributes.get_or<double>("f", 0) == 0.5);
  CHECK(attributes.get_or<std::string>("s", "") == "text");
  CHECK(attributes.get_or("untyped", std::vector<std::int64_t>{}) ==
        std::vector<std::int64_t>{1, 2});
  CHECK(attributes.get_or("packed", std::vector<std::int64_t>{}) ==
        std::vector<std::int64_t>{3, 4});
  CHECK(attributes.get_or<std::int64_t>("zero", 9) == 0);
  CHECK(values_of<float>(attributes.get_or("t", Constant())) == std::vector<float>{2});
  CHECK(std::holds_alternative<Opaque>(*attributes.find("wrong")));
}

TEST_CASE("absent operands and results keep their places") {
  const Folder folder;
  GraphParts parts;
  parts.inputs = {value_info("x", {2, 3})};
  parts.nodes = {node("Op", {"x", "", "x", ""}, {"", "y", ""}),
                 node("Op", {"y"}, {"Op.absent0"})};  // a name that could have been made up
  parts.outputs = {value_info("y", {})};
  const Graph graph = read_bytes(folder, model(parts));
  const NodeId op = graph.find_value("y").node;
  REQUIRE(graph.operands(op).size() == 4);
  CHECK(graph.operands(op)[1].is_absent());
  CHECK(graph.operands(op)[3].is_absent());
  CHECK(graph.result_count(op) == 3);
  CHECK(graph.find_value("y").result == 1);
  CHECK(graph.find_value("Op.absent0").node != op);
}

TEST_CASE("nodes may come in any order") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.nodes = {node("Relu", {"h"}, {"y"}), node("MatMul", {"x", "w"}, {"h"})};
  const Graph graph = read_bytes(folder, model(parts));
  CHECK(topological_order(graph));
  CHECK(graph.type(graph.find_value("h")).shape == Shape{2, 2});
}

TEST_CASE("initializers that are listed as inputs are constants") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.inputs.insert(parts.inputs.begin(), value_info("w", {3, 2}));
  const Graph graph = read_bytes(folder, model(parts, 8));
  CHECK(graph.kind(graph.find_value("w").node) == ops::Constant::kind);
  CHECK(graph.inputs().size() == 1);
}

TEST_CASE("Constant nodes are constants") {
  const Folder folder;
  GraphParts parts;
  const auto constant = [](std::string_view name, const Fields& attribute) {
    return node("Constant", {}, {name}).message(5, attribute);
  };
  parts.nodes = {
      constant("a", Fields().text(1, "value").message(5, floats("t", {2}, {1, 2})).integer(20, 4)),
      constant("b", Fields().text(1, "value_int").integer(3, 5).integer(20, 2)),
      constant("c", Fields().text(1, "value_floats").real(7, 1).real(7, 2).integer(20, 6)),
      constant("d", Fields().text(1, "value_string").text(4, "s").integer(20, 3)),
  };
  parts.outputs = {value_info("a", {2})};
  const Graph graph = read_bytes(folder, model(parts));
  const auto contents = [&](std::string_view name) {
    return graph.constant(graph.find_value(name).node);
  };
  CHECK(values_of<float>(*contents("a")) == std::vector<float>{1, 2});
  CHECK(values_of<std::int64_t>(*contents("b")) == std::vector<std::int64_t>{5});
  CHECK(values_of<float>(*contents("c")) == std::vector<float>{1, 2});
  CHECK(graph.kind(graph.find_value("d").node) == "onnx.Constant");
}

TEST_CASE("stated types: sloppy ones give way, with a note") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  SUBCASE("of a known operation") { parts.outputs = {value_info("y", {9, 9})}; }
  SUBCASE("of an unknown operation whose result is used") {
    parts.nodes = {node("Hardmax", {"x"}, {"h"}), node("MatMul", {"h", "w"}, {"y"})};
    parts.value_infos = {value_info("h", {7, 8})};
  }
  Notes notes;
  const auto graph = read_onnx(folder.write("model.onnx", model(parts).bytes()), {.sink = &notes});
  REQUIRE(graph);
  REQUIRE(notes.messages.size() == 1);
  CHECK(contains(notes.messages[0], "contradict"));
  const Shape& shape = graph->type(graph->find_value("y")).shape;
  CHECK((!shape.is_ranked() || shape[1].value() == 2));
}

TEST_CASE("stated types: what nothing contradicts is believed and used") {
  const Folder folder;
  GraphParts parts = matmul_parts();
  parts.nodes = {node("Strange", {"x"}, {"h"}), node("MatMul", {"h", "w"}, {"y"})};
  parts.value_infos = {value_info("h", {-1, 3})};
  const Graph graph = read_bytes(folder, model(parts));
  CHECK(graph.type(graph.find_value("h")).shape == Shape{Extent::open(), 3});
  CHECK(graph.type(graph.find_value("y")).shape == Shape{2, 2});
}

TEST_CASE("what subgraphs use becomes operands, what they define stays reserved") {
  const Folder folder;
  GraphParts deepest;
  deepest.nodes = {node("Add", {"w", "mine"}, {"deep"})};
  GraphParts branch;
  branch.nodes = {
      node("Neg", {"x"}, {"mine"}),
      node("If", {"x"}, {"out"})
          .message(5, Fields().text(1, "then_branch").message(6, graph(deepest)).integer(20, 5))};
  branch.initializers = {floats("local", {1}, {1})};
  branch.outputs = {value_info("out", {})};
  GraphParts parts = matmul_parts();
  parts.nodes.push_back(
      node("If", {"y"}, {"z"})
          .message(5, Fields().text(1, "then_branch").message(6, graph(branch)).integer(20, 5)));
  Graph graph = read_bytes(folder, model(parts));
  const NodeId node = graph.find_value("z").node;
  CHECK(graph.ref(node).attribute_or("onnx.capture_names", std::vector<std::string>{}) ==
        std::vector<std::string>{"w", "x"});
  REQUIRE(graph.operands(node).size() == 3);
  CHECK(graph.operands(node)[1] == graph.find_value("w"));
  CHECK(graph.operands(node)[2] == graph.find_value("x"));
  for (const std::string name : {"mine", "deep", "local", "out"}) {
    const Value value = graph.add_input(name, {});
    CHECK(graph.value_name(value) != name);
  }
}
