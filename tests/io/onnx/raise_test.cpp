// Quantized graphs, written and read back.
#include <algorithm>
#include <set>

#include "model_helpers.hpp"
#include "model_text.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace onnx_test;
using test::count_of_kind;

namespace {

/// A valid graph given as text, with all types that follow.
Graph valid_graph_of(std::string_view text) {
  Graph graph = test::parsed(text);
  if (const auto valid = verify(graph); !valid) FAIL(to_string(valid.error()));
  return graph;
}

/// What a graph says apart from what only its file says: one line a node, in no order.
std::string meaning(Graph graph) {
  std::vector<std::string> facts;
  for (const auto& [name, value] : graph.attributes()) facts.push_back(name);
  for (const std::string& name : facts) graph.attributes().erase(name);
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    std::vector<std::string> names;
    for (const auto& [name, value] : graph.attributes(node)) {
      if (name.starts_with("onnx.")) names.push_back(name);
    }
    for (const std::string& name : names) graph.erase_attribute(node, name);
    // Files name these after their values, the text need not.
    const std::string_view kind = graph.kind(node);
    if (kind == ops::Input::kind || kind == ops::Constant::kind || kind == ops::Output::kind) {
      graph.set_node_name(node, {});
    }
    // Contents of a file are not printed; these are small.
    if (graph.kind(node) == ops::Constant::kind) {
      const Constant constant = *graph.constant(node);
      const auto bytes = constant.read();
      REQUIRE(bytes);
      graph.set_constant(node,
                         Constant::from_bytes(constant.element(), constant.shape(),
                                              {bytes->bytes().begin(), bytes->bytes().end()}),
                         graph.type({node}).uniform());
    }
  }
  std::istringstream lines(print_graph(graph));
  std::set<std::string> sorted;
  for (std::string line; std::getline(lines, line);) sorted.insert(line);
  std::string found;
  for (const std::string& line : sorted) found += line + "\n";
  return found;
}

Graph read_file(const std::string& path) {
  auto graph = read_onnx(path);
  if (!graph) FAIL(to_string(graph.error()));
  return *std::move(graph);
}

void write_file(const Graph& graph, const std::string& path) {
  const auto report = write_onnx(graph, path);
  if (!report) FAIL(to_string(report.error()));
}

std::size_t operators(const Graph& graph) {
  return count_of_kind(graph, "onnx.DequantizeLinear") +
         count_of_kind(graph, "onnx.QuantizeLinear") +
         count_of_kind(graph, "onnx.com.microsoft::DequantizeLinear");
}

/// Written and read it is the same graph, and written again the same file.
void check_same(std::string_view text) {
  CAPTURE(text);
  const Folder folder;
  const Graph graph = valid_graph_of(text);
  write_file(graph, folder / "first.onnx");
  const Graph read = read_file(folder / "first.onnx");
  CHECK(operators(read) == 0);
  CHECK(verify(read));
  CHECK(meaning(read) == meaning(graph));
  write_file(read, folder / "second.onnx");
  CHECK(contents_of(folder / "first.onnx") == contents_of(folder / "second.onnx"));
}

const std::string opset_13 = R"(graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [13]}
)";
const std::string opset_21 = R"(graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [21]}
)";

/// `parameters`: from behind the expressed type.
std::string uniform(const std::string& storage, const std::string& parameters,
                    const std::string& expressed = "f32") {
  return "!quant.uniform<" + storage + ":" + expressed + parameters + ">";
}

/// y = x dequantize(w), w a constant of 4x2 of the quantized type.
std::string product(const std::string& type, const std::string& real = "f32") {
  return "%x: tensor<3x4x" + real + "> = input()\n%c: tensor<4x2x" + type +
         "> = constant() [1, 2, 3, 4, 5, 6, 7, 0]\n%w: tensor<4x2x" + real +
         "> = dequantize(%c) {name = \"deq\"}\n%y: tensor<3x2x" + real +
         "> = matmul(%x, %w)\noutput(%y)\n";
}

}  // namespace

TEST_CASE("a written file reads back as the same graph: granularities and storage types") {
  for (const std::string storage : {"i8", "u8"}) {
    check_same(opset_13 + product(uniform(storage, ", 0.5")));
    check_same(opset_13 + product(uniform(storage, ", 0.5:3")));
    check_same(opset_13 + product(uniform(storage, ":0, {0.5, 1.0, 2.0, 4.0}")));
    check_same(opset_13 + product(uniform(storage, ":1, {0.5, 0.25:7}")));
  }
  for (const std::string storage : {"i4", "u4", "i8", "u8", "i16", "u16"}) {
    check_same(opset_21 + product(uniform(storage, ", 0.5:1")));
    check_same(opset_21 + product(uniform(storage, ":1, {0.5, 0.25}")));
    check_same(opset_21 + product(uniform(storage, ":{0:2}, {0.5, 1.0:2, 2.0, 4.0}")));
    check_same(opset_21 + product(uniform(storage, ":{0:3}, {0.5, 1.0, 2.0, 4.0}")));
  }
  check_same(opset_13 + product("!quant.uniform<i32:f32:1, {0.5, 0.25}>"));
  // 4 bits in a model that cannot have opset 21: com.microsoft's operator
  check_same(opset_13 + product("!quant.uniform<i4:f32:1, {0.5, 0.25:3}>") +
             "%m: tensor<*xf32> = onnx.Mystery(%y)\noutput(%m)\n");
}

TEST_CASE("float types other than float32: the Cast is part of it") {
  for (const std::string real : {"f16", "bf16", "f64"}) {
    check_same(opset_13 + product(uniform("i8", ":1, {0.5, 0.25}", real), real));
    check_same(opset_21 + product(uniform("u4", ":{0:2}, {0.5, 1.0:2, 2.0, 4.0}", real), real));
  }
}

TEST_CASE("codes that are moved") {
  const std::string end = "%y: tensor<2x4xf32> = onnx.Neg(%w)\noutput(%y)\n";
  check_same(opset_13 +
             "%c: tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> = constant() "
             "[1, 2, 3, 4, 5, 6, 7, 8]\n"
             "%i: tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> = identity(%c)\n"
             "%t: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> = transpose(%i) "
             "{perm = [1, 0]}\n"
             "%w: tensor<2x4xf32> = dequantize(%t)\n" +
             end);
  check_same(opset_13 +
             "%c: tensor<2x2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> = constant() "
             "[1, 2, 3, 4, 5, 6, 7, 8]\n"
             "%s: tensor<2xi64> = constant() [2, 4]\n"
             "%t: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> = reshape(%c, %s)\n"
             "%w: tensor<2x4xf32> = dequantize(%t)\n" +
             end);
}

TEST_CASE("parameters that are shared, and a quantized activation") {
  check_same(opset_13 +
             "%x: tensor<2x4xf32> = input()\n"
             "%q: tensor<2x4x!quant.uniform<u8:f32, 0.5:128>> = quantize(%x) {name = \"q\"}\n"
             "%r: tensor<2x4xf32> = dequantize(%q) {name = \"d\"}\n"
             "%s: tensor<2x4xf32> = dequantize(%q)\n"
             "%y: tensor<2x4xf32> = multiply(%r, %s)\n"
             "output(%y)\noutput(%r)\n");
  // Two weights that one scale serves: the text cannot say so, the graph can.
  const Folder folder;
  Graph graph = valid_graph_of(opset_13 +
                               "%a: tensor<2x!quant.uniform<i8:f32, 0.5>> = constant() [1, 2]\n"
                               "%b: tensor<2xi8> = constant() [3, 4]\n"
                               "%v: tensor<2xf32> = dequantize(%a)\noutput(%v)\n");
  const Value b = graph.find_value("b");
  graph.set_constant(b.node, *graph.constant(b.node), graph.type(graph.find_value("a")).uniform());
  const NodeId w = graph.add({.kind = "dequantize",
                              .operands = {b},
                              .results = {{"w", {ElementType::float32, {2}, nullptr}}}});
  graph.add_output("w", {w});
  write_file(graph, folder / "first.onnx");
  const Graph read = read_file(folder / "first.onnx");
  CHECK(operators(read) == 0);
  CHECK(read.type(read.find_value("a")).uniform()->scales ==
        read.type(read.find_value("b")).uniform()->scales);
  CHECK(meaning(read) == meaning(graph));
  write_file(read, folder / "second.onnx");
  CHECK(contents_of(folder / "first.onnx") == contents_of(folder / "second.onnx"));
}

TEST_CASE("a Clip of codes says which of them there are") {
  for (const std::string& type : {uniform("i8<-7:7>", ", 0.5"), uniform("u8<0:15>", ", 0.5:8"),
                                  uniform("i8<-127:127>", ":1, {0.5, 0.25, 1.0, 2.0}")}) {
    const Folder folder;
    std::string text = opset_13;
    text += "%x: tensor<2x4xf32> = input()\n%q: tensor<2x4x";
    text += type;
    text +=
        "> = quantize(%x) {name = \"q\"}\n"
        "%r: tensor<2x4xf32> = dequantize(%q) {name = \"d\"}\n"
        "%y: tensor<2x4xf32> = onnx.Neg(%r)\noutput(%y)\n";
    const Graph graph = valid_graph_of(text);
    write_file(graph, folder / "first.onnx");
    const Graph read = read_file(folder / "first.onnx");
    CHECK(meaning(read) == meaning(graph));
    // The same again, with the parameters in another order.
    write_file(read, folder / "second.onnx");
    CHECK(meaning(read_file(folder / "second.onnx")) == meaning(graph));
    CHECK(contents_of(folder / "second.onnx").size() == contents_of(folder / "first.onnx").size());
  }
  // Of codes that are read as integers, or between bounds that are computed, it is an operation.
  for (const std::string_view text : {"%c: tensor<2xi8> = onnx.Clip(%q, %z, %s)\n",
                                      "%c: tensor<2xi8> = onnx.Clip(%q, %z, %m)\n"}) {
    const bool is_computed = text.find("%m") != std::string_view::npos;
    const Folder folder;
    write_file(valid_graph_of(
                   opset_13 +
                   "%x: tensor<2xf32> = input()\n%m: tensor<i8> = input()\n"
                   "%one: tensor<f32> = constant() [1]\n%z: tensor<i8> = constant() [0]\n"
                   "%s: tensor<i8> = constant() [7]\n"
                   "%q: tensor<2xi8> = onnx.QuantizeLinear(%x, %one, %z)\n" +
                   std::string(text) + "%y: tensor<2xf32> = onnx.DequantizeLinear(%c, %one, %z)\n" +
                   (is_computed ? "output(%y)\n"
                                : "%n: tensor<2xi8> = onnx.Neg(%c)\noutput(%n)\noutput(%y)\n")),
               folder / "first.onnx");
    CHECK(operators(read_file(folder / "first.onnx")) == 2);
  }
}

TEST_CASE("inputs and outputs of codes") {
  check_same(opset_13 +
             "%x: tensor<2x4x!quant.uniform<u8:f32, 0.5:128>> = input()\n"
             "%r: tensor<2x4xf32> = dequantize(%x) {name = \"d\"}\n"
             "%y: tensor<2x4xf32> = multiply(%r, %r)\n"
             "%q: tensor<2x4x!quant.uniform<u8:f32, 0.25:3>> = quantize(%y)\n"
             "output(%q)\n");
}

TEST_CASE("biases of 32 bits have no zero point") {
  check_same(opset_13 +
             "%b: tensor<2x!quant.uniform<i32:f32:0, {0.5, 0.25}>> = constant() [-70000, 5]\n"
             "%w: tensor<2xf32> = dequantize(%b)\n"
             "output(%w)\n");
}

namespace {

/// y = DequantizeLinear(c, s, z) with what else a file may hold.
GraphParts linear_parts() {
  return {.nodes = {node("DequantizeLinear", {"c", "s", "z"}, {"y"}, "deq")},
          .initializers = {tensor("s", float32, {}).text(9, bytes_of<float>({0.5F})),
                           tensor("c", 3, {2, 2}).text(9, bytes_of<std::int8_t>({1, 2, 3, 4})),
                           tensor("z", 3, {}).text(9, bytes_of<std::int8_t>({1}))},
          .inputs = {},
          .outputs = {value_info("y", {2, 2})},
          .value_infos = {}};
}

/// Operators make the scale and the zero point.
void state_parameters_by_nodes(GraphParts& parts) {
  const Fields scale = parts.initializers[0];
  const Fields zero_point = parts.initializers[2];
  parts.initializers.erase(parts.initializers.begin() + 2);
  parts.initializers.erase(parts.initializers.begin());
  parts.nodes.insert(
      parts.nodes.begin(),
      {node("Constant", {}, {"s"}).message(5, tensor_attribute("value", scale)),
       node("Constant", {}, {"z"}).message(5, tensor_attribute("value", zero_point))});
}

/// Gives a constant of codes another scale.
Value set_scale(Graph& graph, std::string_view name, float scale) {
  const Value codes = graph.find_value(name);
  UniformType type = *graph.type(codes).uniform();
  type.scales = Constant::from_values(ElementType::float32, Shape::scalar(),
                                      std::span<const float>(&scale, 1));
  graph.set_constant(codes.node, *graph.constant(codes.node),
                     std::make_shared<const UniformType>(type));
  return codes;
}

/// The model comes out as it goes in; how many of its operators have been raised.
std::size_t raised_in(const GraphParts& parts, std::int64_t opset = 13) {
  const Folder folder;
  const std::string path = folder.write("model.onnx", model(parts, opset).bytes());
  auto plain = read_onnx(path, {.raise_quantization = false});
  if (!plain) FAIL(to_string(plain.error()));
  write_file(*plain, folder / "plain.onnx");
  const Graph read = read_file(path);
  write_file(read, folder / "raised.onnx");
  CHECK(contents_of(folder / "plain.onnx") == contents_of(folder / "raised.onnx"));
  CHECK(count_of_kind(*plain, "dequantize") + count_of_kind(*plain, "quantize") == 0);
  return count_of_kind(read, "dequantize") + count_of_kind(read, "quantize");
}

}  // namespace

TEST_CASE("a file that is read and written keeps everything") {
  GraphParts parts = linear_parts();
  SUBCASE("as the writer makes it") { CHECK(raised_in(parts) == 1); }
  SUBCASE("a doc string, a stated type, an axis that means nothing, the other domain's name") {
    parts.nodes[0].text(6, "about it").message(5, int_attribute("axis", 0)).text(7, "ai.onnx");
    parts.nodes.push_back(node("Neg", {"y"}, {"n"}));
    parts.outputs = {value_info("n", {2, 2})};
    parts.value_infos = {value_info("c", {2, 2}, 3), value_info("y", {2, 2})};
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("codes of a Constant node, or that are listed among the inputs") {
    parts.inputs = {value_info("c", {2, 2}, 3)};
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("com.microsoft") {
    parts.nodes[0].text(7, "com.microsoft");
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("an axis from the end") {
    parts.nodes[0].message(5, int_attribute("axis", -1));
    parts.initializers[0] = tensor("s", float32, {2}).text(9, bytes_of<float>({0.5F, 2}));
    parts.initializers[2] = tensor("z", 3, {2}).text(9, bytes_of<std::int8_t>({1, 0}));
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("a scale that somebody else reads stays where it is") {
    parts.nodes.push_back(node("Neg", {"s"}, {"n"}));
    parts.outputs.push_back(value_info("n", {}));
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("one scale in a list") {
    parts.initializers[0] = floats("s", {1}, {0.5F});
    parts.initializers[2] = tensor("z", 3, {1}).text(9, "a");
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("a scale that the file says more about") {
    parts.initializers[0].text(12, "a doc string");
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("parameters of Constant nodes") {
    state_parameters_by_nodes(parts);
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("a Cast with a name and attributes behind") {
    parts.nodes.push_back(node("Cast", {"y"}, {"h"}, "to half")
                              .message(5, int_attribute("saturate", 1))
                              .message(5, int_attribute("to", 10)));
    parts.outputs = {value_info("h", {2, 2}, 10)};
    parts.value_infos = {value_info("y", {2, 2})};
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("a Cast and another reader") {
    parts.nodes.push_back(node("Cast", {"y"}, {"h"}).message(5, int_attribute("to", 10)));
    parts.outputs = {value_info("h", {2, 2}, 10), value_info("y", {2, 2})};
    const Folder folder;
    const Graph read = read_bytes(folder, model(parts, 13));
    CHECK(read.type(read.find_value("y")).element == ElementType::float32);
    CHECK(raised_in(parts) == 1);
  }
  SUBCASE("many of them, with shared parameters, in an order of their own") {
    for (int i = 0; i < 20; ++i) {
      const std::string n = std::to_string(i);
      parts.initializers.insert(
          parts.initializers.begin() + i % 3,
          tensor("s" + n, float32, {}).text(9, bytes_of<float>({0.5F + static_cast<float>(i)})));
      parts.initializers.push_back(floats("f" + n, {1}, {1}));
      parts.nodes.insert(
          parts.nodes.begin() + i / 2,
          node("DequantizeLinear", {"d" + n, i % 2 == 0 ? "s" + n : "s", "z"}, {"y" + n}));
      parts.initializers.push_back(tensor("d" + n, 3, {1}).text(9, "a"));
      parts.outputs.push_back(value_info("y" + n, {1}));
    }
    CHECK(raised_in(parts) == 21);
  }
}

TEST_CASE("what is not raised") {
  GraphParts parts = linear_parts();
  std::int64_t opset = 13;
  SUBCASE("further attributes") {
    parts.nodes[0].message(5, int_attribute("output_dtype", 1));
    opset = 23;
  }
  SUBCASE("a scale of float16") {
    parts.initializers[0] = tensor("s", 10, {}).text(9, std::string("\0\x38", 2));
    parts.outputs = {value_info("y", {2, 2}, 10)};
    opset = 19;
  }
  SUBCASE("a scale of 0") {
    parts.initializers[0] = tensor("s", float32, {}).text(9, std::string(4, 0));
  }
  SUBCASE("a computed scale") {
    parts.nodes.insert(parts.nodes.begin(), node("Neg", {"t"}, {"s"}));
    parts.initializers[0] = floats("t", {}, {-0.5F});
  }
  SUBCASE("an input that is read as plain integers, too") {
    parts.initializers.erase(parts.initializers.begin() + 1);
    parts.inputs = {value_info("c", {2, 2}, 3)};
    parts.nodes.push_back(node("Abs", {"c"}, {"m"}));
  }
  SUBCASE("an input that is read as plain integers behind what moves it") {
    parts.initializers.erase(parts.initializers.begin() + 1);
    parts.inputs = {value_info("c", {2, 2}, 3)};
    parts.nodes.push_back(node("Transpose", {"c"}, {"t"}));
    parts.nodes.push_back(node("Abs", {"t"}, {"m"}));
  }
  SUBCASE("codes of an unknown operation") {
    parts.nodes.push_back(node("Mystery", {"c"}, {"m"}));
    parts.nodes[0] = node("DequantizeLinear", {"m", "s", "z"}, {"y"});
  }
  SUBCASE("more scales than the axis has elements") {
    parts.initializers[0] = floats("s", {3}, {1, 1, 1});
    parts.initializers[2] = tensor("z", 3, {3}).text(9, "abc");
  }
  CHECK(raised_in(parts, opset) == 0);
}

TEST_CASE("an input of plain integers does not keep other codes from being raised") {
  GraphParts parts = linear_parts();
  parts.inputs = {value_info("i", {2, 2}, 3)};
  parts.nodes.push_back(node("DequantizeLinear", {"i", "s", "z"}, {"v"}));
  parts.nodes.push_back(node("Transpose", {"i"}, {"t"}));
  parts.nodes.push_back(node("Abs", {"t"}, {"m"}));
  parts.outputs.push_back(value_info("v", {2, 2}));
  CHECK(raised_in(parts) == 1);
}

TEST_CASE("the shape of codes is no integer that they are read as") {
  GraphParts parts = linear_parts();
  parts.initializers.erase(parts.initializers.begin() + 1);
  parts.inputs = {value_info("c", {2, 2}, 3)};
  parts.nodes.push_back(node("Shape", {"c"}, {"m"}));
  parts.outputs.push_back(value_info("m", {2}, 7));
  CHECK(raised_in(parts) == 1);
}

TEST_CASE("attributes that say nothing of integers, and ONNX's default for a zero point") {
  GraphParts parts = linear_parts();
  parts.inputs = {value_info("x", {2, 2})};
  parts.nodes.push_back(node("QuantizeLinear", {"x", "s"}, {"q"}));
  parts.nodes.push_back(node("DequantizeLinear", {"q", "s"}, {"v"}));
  parts.outputs.push_back(value_info("v", {2, 2}));
  std::int64_t opset = 13;
  SUBCASE("as they are") {}
  SUBCASE("with attributes") {
    parts.nodes[1].message(5, int_attribute("saturate", 1));
    parts.nodes[1].message(5, int_attribute("output_dtype", 2));
    opset = 21;
  }
  CHECK(raised_in(parts, opset) == 3);
  const Folder folder;
  const Graph graph = read_bytes(folder, model(parts, opset));
  CHECK(graph.type(graph.find_value("q")).element == ElementType::uint8);
}

TEST_CASE("codes of a type that is carried are not read as another's") {
  // float8 of another kind, float4, 2 bits, and what later versions may add.
  for (const std::int64_t element : {18, 23, 26, 40}) {
    CAPTURE(element);
    const GraphParts parts{.nodes = {node("QuantizeLinear", {"x", "s"}, {"q"})
                                         .message(5, int_attribute("output_dtype", element)),
                                     node("DequantizeLinear", {"q", "s"}, {"y"})},
                           .initializers = {floats("s", {}, {0.5F})},
                           .inputs = {value_info("x", {2, 2})},
                           .outputs = {value_info("y", {2, 2})},
                           .value_infos = {}};
    CHECK(raised_in(parts, 25) == 0);
  }
}

TEST_CASE("real weights that are quantized by channels") {
  const GraphParts parts{
      .nodes =
          {node("QuantizeLinear", {"w", "s", "z"}, {"q"}).message(5, int_attribute("axis", 0)),
           node("DequantizeLinear", {"q", "s", "z"}, {"y"}).message(5, int_attribute("axis", 0))},
      .initializers = {floats("w", {2, 2}, {1, 2, 3, 4}), floats("s", {2}, {0.5F, 0.25F}),
                       tensor("z", 3, {2}).text(9, bytes_of<std::int8_t>({0, 0}))},
      .inputs = {},
      .outputs = {value_info("y", {2, 2})},
      .value_infos = {}};
  CHECK(raised_in(parts) == 2);
}

TEST_CASE("a number, a list of it and a Constant node of it are one type") {
  GraphParts parts = linear_parts();
  parts.nodes.push_back(node("DequantizeLinear", {"c", "t", "u"}, {"v"}));
  parts.initializers.push_back(floats("t", {1}, {0.5F}));
  parts.initializers.push_back(tensor("u", 3, {1}).text(9, bytes_of<std::int8_t>({1})));
  parts.outputs.push_back(value_info("v", {2, 2}));
  SUBCASE("initializers") {}
  SUBCASE("nodes") { state_parameters_by_nodes(parts); }
  CHECK(raised_in(parts) == 2);
  const Folder folder;
  const Graph graph = read_bytes(folder, model(parts, 13));
  const auto& type = graph.type(graph.find_value("c")).uniform();
  CHECK(type->granularity == Granularity::per_tensor());
  CHECK(type->scales.shape().rank() == 0);
}

TEST_CASE("parameters of Constant nodes go with the operator that was changed") {
  GraphParts parts = linear_parts();
  state_parameters_by_nodes(parts);
  const Folder folder;
  Graph graph = read_bytes(folder, model(parts, 13));
  set_scale(graph, "c", 3);
  write_file(graph, folder / "out.onnx");
  auto plain = read_onnx(folder / "out.onnx", {.raise_quantization = false});
  REQUIRE(plain);
  CHECK(plain->find_value("s").is_absent());
  CHECK(plain->find_value("z").is_absent());
}

TEST_CASE("codes that two operators give different meanings are a constant for each") {
  GraphParts parts = linear_parts();
  parts.nodes.push_back(node("DequantizeLinear", {"c", "t", "z"}, {"v"}));
  parts.initializers.push_back(floats("t", {}, {2}));
  parts.outputs.push_back(value_info("v", {2, 2}));
  CHECK(raised_in(parts) == 2);
  const Folder folder;
  Graph graph = read_bytes(folder, model(parts, 13));
  const auto scale_of = [&](std::string_view real) {
    const Value codes = graph.operands(graph.find_value(real).node)[0];
    return values_of<float>(graph.type(codes).uniform()->scales);
  };
  CHECK(scale_of("y") == std::vector<float>{0.5F});
  CHECK(scale_of("v") == std::vector<float>{2});
  // Of one that was changed, the other is still what it was.
  set_scale(graph, "c", 3);
  write_file(graph, folder / "out.onnx");
  graph = read_file(folder / "out.onnx");
  CHECK(scale_of("y") == std::vector<float>{3});
  CHECK(scale_of("v") == std::vector<float>{2});
}

TEST_CASE("what was changed since is written as what it is now") {
  const Folder folder;
  Graph graph = read_bytes(folder, model(linear_parts(), 13));
  const Value codes = set_scale(graph, "c", 3);
  write_file(graph, folder / "out.onnx");
  const Graph read = read_file(folder / "out.onnx");
  CHECK(values_of<float>(read.type(read.find_value("c")).uniform()->scales) ==
        std::vector<float>{3});
  CHECK(graph.type(codes).is_quantized());
}
