// Which Gathers read codes. What ONNX Runtime makes of each form: tests/peers/onnx_lookup_test.py.
#include "io/onnx/names.hpp"
#include "model_helpers.hpp"
#include "model_text.hpp"

using namespace onnx_test;
using test::parsed;

namespace {

Graph written(const Graph& graph) { return write_and_read(Folder(), graph).graph; }

/// The operators from a value back to the table, along operand 0.
std::vector<std::string> path(const Graph& graph, std::string_view value) {
  std::vector<std::string> kinds;
  Value at = graph.find_value(value);
  while (!at.is_absent() && graph.kind(at.node) != "constant" && graph.kind(at.node) != "input") {
    kinds.push_back(onnx::op_name_of(graph.ref(at.node)).op_type);
    at = graph.ref(at.node).operand(0);
  }
  return kinds;
}

}  // namespace

namespace {

using Path = std::vector<std::string>;

/// A lookup in `%w`, a dequantized table of 4x2 of the type.
std::string lookup(const std::string& type, const std::string& more = "", int opset = 13) {
  return "graph {\"onnx.opset_domains\" = [\"\"], \"onnx.opset_versions\" = [" +
         std::to_string(opset) + "]}\n%i: tensor<5xi64> = input()\n%c: tensor<4x2x" + type +
         "> = constant() [1, 2, 3, 4, 5, 6, 7, 0]\n%w: tensor<4x2xf32> = dequantize(%c)\n"
         "%y: tensor<5x2xf32> = onnx.Gather(%w, %i) {name = \"lookup\"}\noutput(%y)\n" +
         more;
}

}  // namespace

TEST_CASE("the forms, by type") {
  CHECK(path(written(parsed(lookup("!quant.uniform<i8:f32:0, {1.0, 2.0, 3.0, 4.0}>"))), "y") ==
        Path{"Mul", "Cast", "Gather"});
  CHECK(path(written(parsed(lookup("!quant.uniform<i8:f32:0, {1.0:1, 2.0, 3.0, 4.0}>"))), "y") ==
        Path{"Mul", "Sub", "Cast", "Gather"});
  CHECK(path(written(parsed(lookup("!quant.uniform<i8:f32:1, {1.0, 2.0}>"))), "y") ==
        Path{"DequantizeLinear", "Gather"});
  CHECK(path(written(parsed(lookup("!quant.uniform<u4:f32:1, {1.0, 2.0}>"))), "y") ==
        Path{"GatherBlockQuantized"});
}

TEST_CASE("names stay") {
  const Graph graph = written(parsed(lookup("!quant.uniform<i8:f32:1, {1.0, 2.0}>")));
  const Value rows = graph.ref(graph.find_value("y").node).operand(0);
  CHECK(graph.name(rows.node) == "lookup");
  CHECK(graph.find_value("w").is_absent());
  CHECK_FALSE(graph.find_value("c").is_absent());
}

TEST_CASE("others keep the dequantize of the table") {
  const Graph graph = written(parsed(lookup("!quant.uniform<i8:f32:1, {1.0, 2.0}>",
                                            "%n: tensor<4x2xf32> = onnx.Neg(%w)\noutput(%n)\n")));
  CHECK(path(graph, "y") == Path{"DequantizeLinear", "Gather"});
  CHECK(path(graph, "n") == Path{"Neg", "DequantizeLinear"});
}

TEST_CASE("codes that are computed are no table") {
  const Graph graph = written(parsed(R"(graph {}
%x: tensor<4x2xf32> = input()
%i: tensor<5xi64> = input()
%q: tensor<4x2x!quant.uniform<i8:f32, 0.5>> = quantize(%x)
%w: tensor<4x2xf32> = dequantize(%q)
%y: tensor<5x2xf32> = onnx.Gather(%w, %i)
output(%y)
)"));
  CHECK(path(graph, "y") == Path{"Gather", "DequantizeLinear", "QuantizeLinear"});
}

TEST_CASE("a file that looks up behind its DequantizeLinear stays so") {
  const Folder folder;
  const GraphParts parts{
      .nodes = {node("DequantizeLinear", {"c", "s"}, {"w"}), node("Gather", {"w", "i"}, {"y"})},
      .initializers = {tensor("c", 3, {2, 2}).text(9, "abcd"), floats("s", {}, {0.5F})},
      .inputs = {value_info("i", {3}, int64)},
      .outputs = {value_info("y", {3, 2})},
      .value_infos = {}};
  const Graph read = read_bytes(folder, model(parts, 13));
  CHECK(read.kind(read.find_value("w").node) == "dequantize");
  CHECK(path(written(read), "y") == Path{"Gather", "DequantizeLinear"});
}

TEST_CASE("an axis that the table has not is left to who reads the file") {
  const Folder folder;
  Graph graph = parsed(lookup("!quant.uniform<i8:f32:1, {1.0, 2.0}>"));
  graph.set_attribute(graph.find_value("y").node, "axis", std::int64_t{2});
  REQUIRE(write_onnx(graph, folder / "out.onnx").has_value());
  CHECK_FALSE(read_onnx(folder / "out.onnx").has_value());
}

TEST_CASE("indices of unknown rank: an axis behind cannot be counted") {
  for (const auto& [type, expected] :
       {std::pair<std::string, Path>{"!quant.uniform<i8:f32:1, {1.0, 2.0}>",
                                     {"Gather", "DequantizeLinear"}},
        {"!quant.uniform<i8:f32, 1.0>", {"DequantizeLinear", "Gather"}}}) {
    std::string text = lookup(type);
    text.replace(text.find("tensor<5xi64>"), 13, "tensor<*xi64>");
    text.replace(text.find("tensor<5x2xf32>"), 15, "tensor<*xf32>");
    CHECK(path(written(parsed(text)), "y") == expected);
  }
}
