#include "quadrant/ir/text.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <random>

#include "build.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/graph.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

Graph parse(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  return *std::move(graph);
}

std::string error_of(std::string_view text) {
  const auto graph = parse_graph(text);
  REQUIRE_MESSAGE(!graph, text);
  CHECK(graph.error().code == ErrorCode::invalid_model);
  return graph.error().message;
}

// Printing what was read gives the text that was read.
void check_stable(const Graph& graph, const PrintOptions& options = {}) {
  const std::string text = print_graph(graph, options);
  CAPTURE(text);
  const Graph again = parse(text);
  CHECK(print_graph(again, options) == text);
  CHECK(again.node_count() == graph.node_count());
  CHECK(again.inputs().size() == graph.inputs().size());
  CHECK(again.outputs().size() == graph.outputs().size());
}

template <class T>
std::vector<T> values(const Graph& graph, std::string_view name) {
  const Constant* constant = graph.constant(graph.find_value(name).node);
  REQUIRE(constant != nullptr);
  const auto contents = constant->read();
  REQUIRE(contents);
  const auto span = contents->as<T>();
  return {span.begin(), span.end()};
}

template <class T>
void check_bits(ElementType element, const std::vector<T>& bits) {
  Graph graph;
  graph.add_constant(
      "w", Constant::from_values<T>(element, {static_cast<std::int64_t>(bits.size())}, bits));
  const std::string text = print_graph(graph, {.largest_constant = INT64_MAX});
  const Graph again = parse(text);
  CHECK(values<T>(again, "w") == bits);
}

constexpr std::string_view example = R"(graph {opset = 13, producer = "test"}
%x: tensor<?x4xf32> = input() {name = "x"}
%w: tensor<4x2x!quant.uniform<i8<-127:127>:f32:1, {0.1:1, 0.2}>> = constant() [1, -2, 3, -4, 5, -6, 7, -8]
%"big one": tensor<1000x1000xf16> = constant() <...> {name = "big"}
%real: tensor<4x2xf32> = dequantize(%w)
%y.0: tensor<?x2xf32> = matmul(%x, %real) {name = "dense", "name" = "an attribute"}
%a: tensor<*xundefined>, %b: tensor<f64> = com.microsoft::Odd(%y.0, _, %y.0, %"big one") {i = -3, f = 0.5, whole = 2.0, s = "a\"b\\\n\t\x01ü", is = [1, 2], fs = [1.0, inf, -inf, nan], ss = ["", "b"], none = [], no_reals = real[], no_strings = string[], "odd key" = 1}
%c: tensor<1xf32> = "42 strange"() {t = tensor<2xi8>[1, 2], empty = tensor<>, large = tensor<5x5xf32><...>, o = opaque("onnx.graph", 0x0aff), no_bytes = opaque("", 0x), o2 = opaque("big", tensor<100000xu8><...>), n = opaque("null", tensor<>)}
%"": tensor<1xf32> = input()
output(%a) {name = "out"}
output(%a)
)";

// The example without the line that is an error on purpose.
std::string valid_example() {
  std::string text(example);
  const auto at = text.find("%\"\"");
  return text.erase(at, text.find('\n', at) - at + 1);
}

}  // namespace

TEST_CASE("reads every part of the form") {
  const Graph graph = parse(valid_example());
  CHECK(graph.node_count() == 9);
  CHECK(graph.attributes().get_or<std::int64_t>("opset", 0) == 13);
  CHECK(graph.inputs().size() == 1);
  CHECK(graph.outputs().size() == 2);
  CHECK(verify(graph));

  const Value w = graph.find_value("w");
  REQUIRE(graph.type(w).is_quantized());
  const UniformType& type = *graph.type(w).uniform();
  CHECK(type.storage_min == -127);
  CHECK(type.granularity == Granularity::per_axis(1));
  CHECK(type.scales.read()->as<float>()[0] == 0.1F);
  CHECK(*read_integers(type.zero_points) == std::vector<std::int64_t>{1, 0});
  CHECK(values<std::int8_t>(graph, "w") == std::vector<std::int8_t>{1, -2, 3, -4, 5, -6, 7, -8});

  const NodeRef dense = graph.ref(graph.find_value("y.0").node);
  CHECK(dense.name() == "dense");
  CHECK(dense.attribute_or<std::string>("name", "") == "an attribute");

  const NodeRef odd = graph.ref(graph.find_value("a").node);
  CHECK(odd.kind() == "com.microsoft::Odd");
  CHECK(odd.operand(1).is_absent());
  CHECK(odd.operand(3) == graph.find_value("big one"));
  CHECK(graph.find_value("b") == odd.result(1));
  CHECK(odd.attribute_or<std::int64_t>("i", 0) == -3);
  CHECK(odd.attribute_or<double>("whole", 0) == 2.0);
  CHECK(odd.attribute_or<std::string>("s", "") == "a\"b\\\n\t\x01ü");
  CHECK(odd.attribute_or<std::vector<double>>("fs", {})[1] ==
        std::numeric_limits<double>::infinity());
  CHECK(odd.attribute_or<std::vector<double>>("no_reals", {1.0}).empty());
  CHECK(odd.attribute_or<std::vector<std::string>>("no_strings", {"x"}).empty());
  CHECK(odd.attribute_or<std::vector<std::int64_t>>("none", {1}).empty());
  CHECK(odd.attribute_or<std::int64_t>("odd key", 0) == 1);

  const NodeRef strange = graph.ref(graph.find_value("c").node);
  CHECK(strange.kind() == "42 strange");
  const auto opaque = strange.attribute_or<Opaque>("o", {});
  CHECK(opaque.format == "onnx.graph");
  CHECK(opaque.bytes.read()->bytes()[1] == std::byte{0xff});
  CHECK(!strange.attribute_or<Constant>("empty", build::integers({1})));
}

TEST_CASE("printing what was read gives the same text") {
  const std::string text = valid_example();
  CHECK(print_graph(parse(text)) == text);
  CHECK(print_graph(Graph()).empty());
  CHECK(parse("").node_count() == 0);
  CHECK(parse(" # nothing\n\n\t\r\n").node_count() == 0);
}

TEST_CASE("negative scales come back") {
  const std::string text =
      "%w: tensor<3x2x!quant.uniform<i4:f32:{0:2}, {-0.1, 0.2, 3e+38, -1e-38:-8}>> = constant() "
      "[-8, 7, 0, 1, 2, 3]\n";
  const Graph graph = parse(text);
  CHECK(verify(graph));
  const auto scales = graph.type(graph.find_value("w")).uniform()->scales.read();
  REQUIRE(scales);
  CHECK(scales->as<float>()[0] == -0.1F);
  CHECK(scales->as<float>()[3] == -1e-38F);
  CHECK(print_graph(graph) == text);
}

TEST_CASE("fake_quantize comes back with its attributes") {
  const std::string text =
      "%x: tensor<2x3xf32> = input()\n%low: tensor<2xf32> = constant() [0, -1]\n"
      "%high: tensor<2x1xf32> = constant() [1, 2]\n"
      "%y: tensor<2x3xf32> = fake_quantize(%x, %low, %high, %low, %high) "
      "{auto_broadcast = \"pdpd\", axis = 0, levels = 256}\noutput(%y)\n";
  const Graph graph = parse(text);
  CHECK(verify(graph));
  CHECK(print_graph(graph) == text);
}

TEST_CASE("values without a name are refused, with line and column") {
  CHECK(error_of(example).starts_with("line 9, column 1: "));
}

TEST_CASE("the header's example") {
  const Graph graph = parse(
      "%x: tensor<2x3xf32> = input()\n%w: tensor<3x4xf32> = input()\n"
      "%y: tensor<2x4xf32> = matmul(%x, %w) {name = \"dense\"}\n");
  CHECK(graph.name(graph.find_value("y").node) == "dense");
}

TEST_CASE("nodes are printed producers first, inputs and outputs in their order") {
  Graph graph;
  const Value spare = graph.add_input("spare", {});
  const Value b = graph.add_input("b", {});
  const Value late = build::add(graph, "late", {Value{}}, {}, {}, "late");
  const NodeId first = graph.add_output("first", late);
  graph.erase(spare.node);
  const Value early = build::add(graph, "early", {b}, {}, {}, "early");  // at a smaller index
  const Value earlier = build::add(graph, "earlier", {b}, {}, {}, "earlier");
  graph.add_input("c", {});
  graph.set_operand(late.node, 0, earlier);
  graph.add_output("second", early);
  const std::string text = print_graph(graph);
  CAPTURE(text);
  CHECK(text.find("earlier(") < text.find("= late("));
  CHECK(text.find("%b:") < text.find("%c:"));
  CHECK(text.find("%c:") < text.find("early("));
  CHECK(text.find("\"first\"") < text.find("\"second\""));
  CHECK(graph.name(first) == "first");
  check_stable(graph);
}

TEST_CASE(
    "large and deferred constants are left out, and read back as zeros without their memory") {
  Graph graph;
  graph.add_constant("small", build::floats({3}, {1, 2, 3}));
  graph.add_constant("deferred", build::deferred(ElementType::uint8, {2}));
  CHECK(print_graph(graph, {.largest_constant = 3}) ==
        "%small: tensor<3xf32> = constant() [1, 2, 3] {name = \"small\"}\n"
        "%deferred: tensor<2xu8> = constant() <...> {name = \"deferred\"}\n");
  CHECK(print_graph(graph, {.largest_constant = 2}).find('[') == std::string::npos);
  check_stable(graph);

  const Graph huge = parse("%w: tensor<1000000x1000x100xf64> = constant() <...>");
  const Constant& constant = *huge.constant(huge.find_value("w").node);
  CHECK(constant.is_deferred());
  CHECK(constant.byte_size() == 800000000000U);
  std::array<std::byte, 3> part{std::byte{1}, std::byte{1}, std::byte{1}};
  REQUIRE(constant.read(799999999997U, part));
  CHECK(part == std::array<std::byte, 3>{});
}

TEST_CASE("floats come back bit by bit") {
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> singles{0,          0x80000000, 1,          0x7f800000,
                                     0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
                                     0x7fffffff, 0x7f7fffff, 0x00800000};
  std::vector<std::uint64_t> doubles{0,
                                     std::uint64_t{1} << 63U,
                                     1,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0x7ff8000000000000,
                                     0x7ff0000000000001,
                                     0xffffffffffffffff,
                                     0x7fefffffffffffff};
  for (int i = 0; i < 5000; ++i) {
    doubles.push_back(random());
    singles.push_back(static_cast<std::uint32_t>(random()));
  }
  check_bits(ElementType::float32, singles);
  check_bits(ElementType::float64, doubles);
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    halves.push_back(static_cast<std::uint16_t>(bits));
  }
  check_bits(ElementType::float16, halves);
  check_bits(ElementType::bfloat16, halves);

  for (const std::uint64_t bits : doubles) {
    Graph graph;
    const Attribute real = std::bit_cast<double>(bits);
    graph.attributes().set("f", real);
    const Graph again = parse(print_graph(graph));
    const Attribute* found = again.attributes().find("f");
    REQUIRE(found != nullptr);
    REQUIRE(std::holds_alternative<double>(*found));
    REQUIRE(std::bit_cast<std::uint64_t>(std::get<double>(*found)) == bits);
  }
}

TEST_CASE("numbers of 16 bits are rounded to the nearest") {
  const Graph graph = parse(
      "%h: tensor<8xf16> = constant() "
      "[1, 1.00048828125, 1.0014648438, 65519, 5.9604645e-08, 2.9802322e-08, 6.1035156e-05, -2]\n"
      "%b: tensor<4xbf16> = constant() [1, 1.00390625, 1.01171875, 3.3e38]\n");
  CHECK(values<std::uint16_t>(graph, "h") ==
        std::vector<std::uint16_t>{0x3c00, 0x3c00, 0x3c02, 0x7bff, 0x0001, 0x0000, 0x0400, 0xc000});
  CHECK(values<std::uint16_t>(graph, "b") ==
        std::vector<std::uint16_t>{0x3f80, 0x3f80, 0x3f82, 0x7f78});
}

TEST_CASE("integers come back at the ends of their ranges") {
  check_bits<std::int8_t>(ElementType::int8, {-128, 0, 127});
  check_bits<std::int8_t>(ElementType::int4, {-8, 7});
  check_bits<std::uint8_t>(ElementType::uint4, {0, 15});
  check_bits<std::uint8_t>(ElementType::uint8, {0, 255});
  check_bits<std::uint8_t>(ElementType::boolean, {0, 1});
  check_bits<std::int16_t>(ElementType::int16, {INT16_MIN, INT16_MAX});
  check_bits<std::uint16_t>(ElementType::uint16, {0, UINT16_MAX});
  check_bits<std::int32_t>(ElementType::int32, {INT32_MIN, INT32_MAX});
  check_bits<std::uint32_t>(ElementType::uint32, {0, UINT32_MAX});
  check_bits<std::int64_t>(ElementType::int64, {INT64_MIN, INT64_MAX});
  check_bits<std::uint64_t>(ElementType::uint64, {0, UINT64_MAX});
}

TEST_CASE("names of any bytes") {
  std::mt19937 random(11);
  Graph graph;
  std::vector<std::string> names{"x",
                                 "_",
                                 "0",
                                 "a b",
                                 "\xff\xfe",
                                 "ünïcödé",
                                 "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80",
                                 "\xc0\xaf",
                                 "\"",
                                 "\\",
                                 "a\nb",
                                 "日本語",
                                 "x:y",
                                 std::string("a\0b", 3),
                                 "%x",
                                 "nan",
                                 "name"};
  for (int i = 0; i < 300; ++i) {
    std::string name;
    for (auto n = random() % 6 + 1; n > 0; --n) name += static_cast<char>(random() & 0xffU);
    names.push_back(std::move(name));
  }
  for (const std::string& name : names) {
    graph.add({.kind = name,
               .name = name,
               .results = {{name, {}}},
               .attributes = {{name, name}, {"l", std::vector<std::string>{name, ""}}}});
  }
  check_stable(graph);
  const Graph again = parse(print_graph(graph));
  for (const std::string& name : names) {
    const Value value = again.find_value(name);
    REQUIRE(!value.is_absent());
    CHECK(again.name(value.node).size() >= name.size());
    REQUIRE(again.attribute(value.node, "l") != nullptr);
  }
  const NodeId quote = again.find_value("a\nb").node;
  CHECK(again.kind(quote) == "a\nb");
  CHECK(again.name(quote) == "a\nb");
  CHECK(again.ref(quote).attribute_or<std::string>("a\nb", "") == "a\nb");
}

TEST_CASE("quantized types") {
  for (const char* type :
       {"!quant.uniform<i8:f32, 0.1>", "!quant.uniform<u8:f32, 0.1:128>",
        "!quant.uniform<i8<-127:127>:f32:0, {0.1:1, 0.2}>", "!quant.uniform<i4:bf16, 3.0>",
        "!quant.uniform<u4:f16:1, {1.0, 2.0, 3.0:15}>", "!quant.uniform<i16:f64, 1e-30>",
        "!quant.uniform<i8:f32:{1:2}, {0.1, 0.2, 0.3:-5, 0.4}>",
        "!quant.uniform<i32:f32, 1.1754944e-38>"}) {
    const std::string text = "%x: tensor<2x3x" + std::string(type) + "> = input()\n";
    CAPTURE(text);
    const Graph graph = parse(text);
    CHECK(verify(graph));
    CHECK(print_graph(graph) == text);
  }
  const Graph graph = parse(
      "%x: tensor<*x!quant.uniform<i8:f32:0, {0.5, 1.0}>> = input()\n"
      "%y: tensor<*x!quant.uniform<i8:f32:0, {0.5, 1.0}>> = identity(%x)\n");
  CHECK(verify(graph));
  // Equal texts are one type.
  CHECK(graph.type(graph.find_value("x")) == graph.type(graph.find_value("y")));
}

TEST_CASE("scales that were left out cannot be read back, and the message says so") {
  Graph graph;
  auto type = build::uniform({1}, Granularity::per_axis(0));
  type->scales = build::deferred(ElementType::float32, {2});
  graph.add_input("x", build::quantized({2, 3}, type));
  const std::string text = print_graph(graph);
  CHECK(text.find("!quant.uniform<i8:f32:0, {...}>") != std::string::npos);
  CHECK(error_of(text).find("left out") != std::string::npos);

  Graph many;
  many.add_input("x", build::quantized({100}, build::uniform(std::vector<float>(100, 1.5F),
                                                             Granularity::per_axis(0))));
  CHECK(print_graph(many).find("{...}") != std::string::npos);
  check_stable(many, {.largest_constant = 100});
}

TEST_CASE("errors give line and column") {
  CHECK(error_of("%x: tensor<2xf32> = input()\n  %y: tensor<2xf33> = input()")
            .starts_with("line 2, column 16: expected an element type"));
  CHECK(error_of("output(%x)").starts_with("line 1, column 8: "));
  CHECK(error_of("\n\n# comment\noutput(").starts_with("line 4, column 8: "));
  CHECK(error_of("%\"日本\": tensor<2xf32>\n").starts_with("line 2, column 1: expected '='"));
  CHECK(error_of("%\"日本\": tensor<2>\n").starts_with("line 1, column 16: "));
  const auto place = parse_graph("output(%x)");
  CHECK(place.error().place.offset == 7U);
}

TEST_CASE("texts that are refused") {
  for (const char* text :
       {"%x",
        "%x:",
        "%x: tensor",
        "%x: tensor<",
        "%x: tensor<>",
        "%x: tensor<2>",
        "%x: tensor<2xf32>",
        "%x: tensor<2xf32> =",
        "%x: tensor<2xf32> = input",
        "%x: tensor<2xf32> = input(",
        "%x: tensor<-2xf32> = input()",
        "%x: tensor<99999999999999999999xf32> = input()",
        "%x: tensor<2xf32> = input() %y: tensor<2xf32> = input()",
        "%x: tensor<2xf32> = input()\n%x: tensor<2xf32> = input()",
        "%x: tensor<2xf32>, %x: tensor<2xf32> = op()",
        "%x: tensor<2xf32> = op(%x)",
        "%x: tensor<2xf32> = input() {",
        "op() {a}",
        "op() {a =}",
        "op() {a = 1",
        "op() {a = 1,}",
        "op() {a = 1, a = 2}",
        "op() {name = 3}",
        "op() {a = [1, 2.0]}",
        "op() {a = [1, \"\"]}",
        "op() {a = [[1]]}",
        "op() {a = 9223372036854775808}",
        "op() {a = 1e999}",
        "op() {a = -nan}",
        "op() {a = 0x10}",
        "op() {a = --1}",
        "op() {a = 1.2.3}",
        "op() {a = nan(0x7ff0000000000000)}",
        "op() {a = nan(0x7fc00000)}",
        "op() {a = \"}",
        "op() {a = \"\n\"}",
        "op() {a = \"\\q\"}",
        "op() {a = \"\\x1\"}",
        "op() {a = real[1.0]}",
        "op() {a = opaque(\"f\", 0x1)}",
        "op() {a = opaque(\"f\", 1)}",
        "op() {a = opaque(\"f\"}",
        "op() {a = tensor<2xi8>}",
        "op() {a = tensor<2xi8>[1]}",
        "op() {a = tensor<2xi8>[1, 2, 3]}",
        "op() {a = tensor<1xi8>[128]}",
        "op() {a = tensor<1xi4>[8]}",
        "op() {a = tensor<1xu8>[-1]}",
        "op() {a = tensor<1xi8>[1.5]}",
        "op() {a = tensor<1xf16>[65520]}",
        "op() {a = tensor<1xf32>[1e39]}",
        "op() {a = tensor<?xi8><...>}",
        "op() {a = tensor<*xi8><...>}",
        "op() {a = tensor<1xopaque>[1]}",
        "op() {a = tensor<4611686018427387904x4xi8><...>}",
        "op() {a = tensor<9223372036854775807xi8><...>}",
        "op() {a = tensor<9223372036854775807xopaque><...>}",
        "op() {a = tensor<1x!quant.uniform<i8:f32, 1.0>>[1]}",
        "constant() [1]",
        "%x: tensor<2xi8> = input() [1, 2]",
        "graph {a = 1} output()",
        "graph {a = 1}\ngraph {a = 1}",
        "%x: tensor<2x!quant.uniform<f32:f32, 1.0>> = input()",
        "%x: tensor<2x!quant.uniform<i64:f32, 1.0>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32>> = input()",
        "%x: tensor<2x!quant.uniform<i8, 1.0>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32:0, 1.0>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32, {1.0}>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32:0, {1.0}>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32:1, {1.0, 2.0}>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32:{0:0}, {1.0, 2.0}>> = input()",
        "%x: tensor<*x!quant.uniform<i8:f32:{0:1}, {1.0, 2.0}>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32, 1.0:128>> = input()",
        "%x: tensor<2x!quant.uniform<i8:f32:-9223372036854775808, {1.0}>> = input()",
        "%x: tensor<2x!quant.any<i8:f32>> = input()"}) {
    CAPTURE(text);
    CHECK(error_of(text).starts_with("line "));
  }
  CHECK(error_of(std::string_view("op()\0", 5)).starts_with("line 1, column 5"));
}

TEST_CASE("long texts: many dimensions, names, attributes, comments and brackets") {
  std::string dims = "%x: tensor<";
  for (int i = 0; i < 100000; ++i) dims += "1x";
  CHECK(parse(dims + "f32> = input()").node_count() == 1);
  CHECK(parse(std::string(1000000, '\n')).node_count() == 0);
  CHECK(parse(std::string(1000000, '#')).node_count() == 0);
  CHECK(!parse_graph("op() {a = " + std::string(1000000, '[')));
  CHECK(!parse_graph("op" + std::string(1000000, '(')));
  std::string dict = "op() {";
  for (int i = 0; i < 100000; ++i) dict += "a" + std::to_string(i) + " = 1, ";
  CHECK(error_of(dict).find("too many") != std::string::npos);
}

TEST_CASE("a cycle is printed, for people") {
  Graph graph;
  const Value a = build::add(graph, "op", {Value{}}, {}, {}, "a");
  graph.set_operand(a.node, 0, build::add(graph, "op", {a}, {}, {}, "b"));
  const std::string text = print_graph(graph);
  CHECK(text.find("op(%b)") != std::string::npos);
  CHECK(text.find("op(%a)") != std::string::npos);
}

TEST_CASE("random graphs print the same when read back") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Graph graph;
    std::vector<Value> values;
    const auto type = [&]() -> TensorType {
      std::vector<Extent> extents;
      for (auto n = random() % 3; n > 0; --n) {
        const auto count = static_cast<std::int64_t>(random() % 4);
        extents.push_back(count < 3 ? Extent(count) : Extent::open());
      }
      const auto element = static_cast<ElementType>(random() % 17);
      if (random() % 6 == 0) return build::tensor(element, Shape());
      if (random() % 5 == 0) {
        return build::quantized({2, 3},
                                build::uniform({0.1F, 1e20F, 3.0F}, Granularity::per_axis(1)));
      }
      return build::tensor(element, Shape(std::move(extents)));
    };
    const auto attribute = [&]() -> Attribute {
      switch (random() % 8) {
        case 0:
          return static_cast<std::int64_t>(random()) * (random() % 2 == 0 ? 1 : -1);
        case 1:
          return static_cast<double>(random()) / 7;
        case 2:
          return std::string(random() % 4, static_cast<char>(random() & 0xffU));
        case 3:
          return std::vector<std::int64_t>(random() % 3, 5);
        case 4:
          return std::vector<double>(random() % 3, 2.0);
        case 5:
          return std::vector<std::string>(random() % 3, "s");
        case 6:
          return build::zeros(static_cast<ElementType>(random() % 17),
                              {static_cast<std::int64_t>(random() % 3)});
        default:
          return Opaque{"f",
                        random() % 2 == 0 ? build::zeros(ElementType::uint8, {3}) : Constant()};
      }
    };
    for (int i = 0; i < 30; ++i) {
      if (random() % 6 == 0) {
        values.push_back(graph.add_input("in", type()));
      } else if (random() % 5 == 0) {
        values.push_back(graph.add_constant("w", build::floats({2}, {0.1F, 3.0F})));
        if (random() % 2 == 0) graph.set_type(values.back(), type());
      } else if (random() % 7 == 0 && !values.empty()) {
        graph.add_output("out", values[random() % values.size()]);
      } else {
        NodeSpec spec{.kind = random() % 2 == 0 ? "op" : "tensor",
                      .name = random() % 2 == 0 ? "n" : ""};
        for (auto n = random() % 3; n > 0; --n) {
          spec.operands.push_back(
              values.empty() || random() % 4 == 0 ? Value{} : values[random() % values.size()]);
        }
        for (auto n = random() % 3; n > 0; --n) spec.results.push_back({"", type()});
        for (auto n = random() % 3; n > 0; --n) {
          spec.attributes.set("k" + std::to_string(random() % 3), attribute());
        }
        const auto results = static_cast<std::uint32_t>(spec.results.size());
        const NodeId node = graph.add(std::move(spec));
        for (std::uint32_t result = 0; result < results; ++result) values.push_back({node, result});
      }
      if (random() % 10 == 0 && !values.empty()) {
        const Value last = values.back();
        if (graph.uses(last.node).empty()) {
          std::erase_if(values, [&](Value value) { return value.node == last.node; });
          graph.erase(last.node);
        }
      }
    }
    check_stable(graph);
  }
}

TEST_CASE("mutated texts: an error or a graph, never more") {
  const std::string base =
      valid_example() +
      "%q: tensor<4x4x!quant.uniform<u4:f16:{1:2}, {1.0:1, 2.0, 3.0, 4.0, 5.0, "
      "6.0, 7.0, 8.0}>> = input()\n";
  REQUIRE(parse_graph(base));
  constexpr std::string_view bits[] = {"%",
                                       "(",
                                       ")",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       "<",
                                       ">",
                                       "\"",
                                       "\\",
                                       "\\x",
                                       ":",
                                       ",",
                                       "=",
                                       "_",
                                       "#",
                                       "\n",
                                       "-",
                                       "nan",
                                       "inf",
                                       "nan(0x",
                                       "tensor<",
                                       "tensor<>",
                                       "<...>",
                                       "{...}",
                                       "!quant.uniform<",
                                       "opaque(",
                                       "real[",
                                       "string[",
                                       "graph {",
                                       "*x",
                                       "?x",
                                       "0x",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "99999999999999999999",
                                       "1e999",
                                       "constant()",
                                       "i8",
                                       "undefined",
                                       "opaque",
                                       "x",
                                       "name = "};
  std::mt19937 random(20261120);
  int read = 0;
  int refused = 0;
  for (int round = 0; round < test::shortened(20000); ++round) {
    std::string text = base;
    for (auto edits = random() % 4 + 1; edits > 0; --edits) {
      const std::size_t at = random() % (text.size() + 1);
      switch (random() % 6) {
        case 0:
          text.insert(at, bits[random() % std::size(bits)]);
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(random() & 0xffU);
          break;
        case 3:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        case 4: {
          const std::string_view bit = bits[random() % std::size(bits)];
          text.replace(std::min(at, text.size()), bit.size(), bit);
          break;
        }
        default:
          if (random() % 4 == 0) text.resize(at);
          break;
      }
      if (text.empty()) text = "%";
    }
    const auto graph = parse_graph(text);
    if (!graph) {
      ++refused;
      REQUIRE(graph.error().message.starts_with("line "));
      continue;
    }
    ++read;
    const std::string printed = print_graph(*graph);
    const auto again = parse_graph(printed);
    REQUIRE_MESSAGE(again, (again ? "" : to_string(again.error())), printed);
    REQUIRE(print_graph(*again) == printed);
    (void)verify(*graph);
  }
  CHECK(read > test::shortened(500));
  CHECK(refused > test::shortened(5000));
}

// --- whole models
// ----------------------------------------------------------------------------------

namespace {

Graph parse_whole(std::string_view text) {
  auto graph = parse_model(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  return *std::move(graph);
}

Error refusal(std::string_view text) {
  const auto graph = parse_model(text);
  REQUIRE_MESSAGE(!graph, text);
  CHECK(graph.error().code == ErrorCode::invalid_model);
  return graph.error();
}

bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("a whole model comes back with all contents") {
  Graph graph;
  std::vector<float> many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i) / 7 - 3;
  many[7] = std::bit_cast<float>(0xffc12345U);
  graph.add_constant("large", build::floats({10, 100}, many));
  graph.add_constant("deferred", build::deferred(ElementType::uint8, {300}));
  graph.add_constant("small", build::floats({2}, {1, 2}));
  graph.add_constant("nibbles", build::zeros(ElementType::int4, {65}));
  const Value x = graph.add_input("x", build::f32({2}));
  const Value y = build::add(graph, "onnx.com.odd::Op", {x}, {}, {}, "y");
  graph.set_attribute(y.node, "t", build::floats({10, 100}, many));
  graph.set_attribute(y.node, "short", Opaque{"any", build::deferred(ElementType::uint8, {3})});
  graph.set_attribute(y.node, "long", Opaque{"any", build::deferred(ElementType::uint8, {200})});
  graph.add_output("y", y);
  graph.reserve_name("inner");
  graph.reserve_name("a \"quoted\" one");

  const auto text = print_model(graph);
  REQUIRE(text.has_value());
  CHECK_FALSE(mentions(*text, "..."));
  const Graph again = parse_whole(*text);
  CHECK(*print_model(again) == *text);
  CHECK(again.reserved_names() == std::vector<std::string>{"a \"quoted\" one", "inner"});
  const auto bits = [](const Graph& of, std::string_view name) {
    return values<std::uint8_t>(of, name);
  };
  for (const std::string_view name : {"large", "deferred", "small", "nibbles"}) {
    CHECK(bits(again, name) == bits(graph, name));
  }
  const NodeRef odd = again.ref(again.find_value("y").node);
  CHECK(odd.attribute_or<Opaque>("short", {}).bytes.read()->as<std::uint8_t>()[2] == 2);
  CHECK(odd.attribute_or<Opaque>("long", {}).bytes.read()->as<std::uint8_t>()[199] == 199);
  CHECK(odd.attribute_or<Constant>("t", {}).read()->as<std::uint32_t>()[7] == 0xffc12345U);
}

TEST_CASE("scales that are deferred or many are written, too") {
  UniformType type{.storage = ElementType::int8, .storage_min = -128, .storage_max = 127};
  type.granularity = Granularity::per_axis(0);
  std::vector<double> scales(100);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 1 + static_cast<double>(i) / 64;
  type.scales = make_exact_scales(ElementType::float32, {100}, scales);
  type.zero_points = build::deferred(ElementType::int8, {100});
  Graph graph;
  const Value w = graph.add_constant("w", build::zeros(ElementType::int8, {100}));
  graph.set_constant(w.node, *graph.constant(w.node), std::make_shared<const UniformType>(type));
  const auto text = print_model(graph);
  REQUIRE(text.has_value());
  const Graph again = parse_whole(*text);
  const auto& read = again.type(again.find_value("w")).uniform();
  CHECK(*read_exact_scales(read->scales) == scales);
  CHECK(read_integers(read->zero_points)->at(99) == 99);
}

TEST_CASE("deferred zero points that no reader of text would take are an error") {
  UniformType type{.storage = ElementType::int8, .storage_min = -128, .storage_max = 50};
  type.granularity = Granularity::per_axis(0);
  type.scales = make_exact_scales(ElementType::float32, {100}, std::vector<double>(100, 1.0));
  type.zero_points = build::deferred(ElementType::int8, {100});  // 0 to 99
  Graph graph;
  const Value w = graph.add_constant("w", build::zeros(ElementType::int8, {100}));
  graph.set_constant(w.node, *graph.constant(w.node), std::make_shared<const UniformType>(type));
  const auto text = print_model(graph);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().message == "a zero point of 51 outside -128 to 50");
  CHECK(text.error().place.node == "w");
}

TEST_CASE("blocks of what is not known have no text") {
  UniformType type{.storage = ElementType::int8, .storage_min = -128, .storage_max = 127};
  type.granularity = Granularity::per_block(1, 4);
  type.scales = build::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const Shape& shape : {Shape(), Shape{Extent::open(), 10}, Shape{2, Extent::open()}}) {
    Graph graph;
    graph.add_input("x", {ElementType::int8, shape, std::make_shared<const UniformType>(type)});
    const auto text = print_model(graph);
    REQUIRE_FALSE(text.has_value());
    CHECK(text.error().code == ErrorCode::impossible);
    CHECK(text.error().place.node == "x");
  }
}

TEST_CASE("what cannot be read is an error that names the node, not a gap") {
  Graph graph;
  graph.add_constant("w", Constant::deferred(ElementType::uint8, {2},
                                             std::make_shared<build::CountingSource>(true)));
  const auto text = print_model(graph);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().code == ErrorCode::io);
  CHECK(text.error().place.node == "w");
}

TEST_CASE("a model with contents left out is refused by name") {
  CHECK(refusal("%w: tensor<2xf32> = constant() <...>\n").message ==
        "line 1, column 32: the contents of 'w' were left out when this was printed for people: "
        "'quadrant convert MODEL OUT.qd' writes all");
  CHECK(mentions(refusal("%x: tensor<1xf32> = input()\n"
                         "%y: tensor<1xf32> = odd(%x) {k = tensor<9xf32><...>}\n")
                     .message,
                 "the contents of the attribute 'k' were left out"));
  CHECK(mentions(
      refusal("%y: tensor<1xf32> = odd() {k = opaque(\"f\", tensor<9xu8><...>)}\n").message,
      "the contents of the attribute 'k' were left out"));
  CHECK(mentions(
      refusal("%w: tensor<2x!quant.uniform<i8:f32:0, {...}>> = constant() [1, 2]\n").message,
      "the scales were left out"));
}

TEST_CASE("sizes are bounded by what is there") {
  // Nothing of such a size is made before its bytes are seen to be missing.
  for (const char* const contents : {"[1, 2]", "base64(\"AAAA\")", "<...>"}) {
    const std::string text = fmt::format("%w: tensor<10000000000xf32> = constant() {}\n", contents);
    CHECK(mentions(refusal(text).message, "line 1, "));
  }
}

TEST_CASE("base64 that is none, or of another size, is refused") {
  for (const auto& [type, digits] :
       std::vector<std::pair<std::string, std::string>>{{"1xf32", "AAAA"},
                                                        {"1xf32", "AAAAAA"},
                                                        {"1xf32", "AAAAA*=="},
                                                        {"1xi4", "CA=="},
                                                        {"1xu4", "EA=="},
                                                        {"1xf8e4m3", "AA=="},
                                                        {"0xundefined", ""}}) {
    CAPTURE(type);
    CAPTURE(digits);
    CHECK(mentions(
        refusal(fmt::format("%w: tensor<{}> = constant() base64(\"{}\")\n", type, digits)).message,
        "line 1, "));
  }
  CHECK(values<std::int8_t>(parse_whole("%w: tensor<2xi4> = constant() base64(\"+Ac=\")\n"), "w") ==
        std::vector<std::int8_t>{-8, 7});
}

TEST_CASE("a model's nodes keep the rules, or the line says which does not") {
  const std::string start = "%x: tensor<2x2xf32> = input()\n# a comment\n";
  const auto check = [&](std::string_view line, std::string_view node, std::string_view part) {
    const Error error = refusal(start + std::string(line) + "\n");
    CAPTURE(line);
    CAPTURE(error.message);
    CHECK(error.message.starts_with("line 3, column 1: "));
    CHECK(error.place.node == node);
    CHECK(mentions(error.message, part));
  };
  check("output()", "output", "0 operands");
  check("output(%x, %x)", "x", "2 operands");
  check("%y: tensor<1xf32> = output(%x)", "y", "1 results");
  check("%y: tensor<1xf32> = constant()", "y", "without contents");
  check("constant()", "constant", "0 results");
  check("%y: tensor<2xundefined> = constant() tensor<2xf32>[1, 2]", "y",
        "contents of tensor<2xf32>");
  check("%y: tensor<?xf32> = constant() tensor<2xf32>[1, 2]", "y", "contents of tensor<2xf32>");
  check("%y: tensor<*xf32> = constant() tensor<2xf32>[1, 2]", "y", "contents of tensor<2xf32>");
  check("%y: tensor<1xf32> = input(%x)", "y", "1 operands");
  check("matmul(%x, %x) {name = \"product\"}", "product", "0 results");
  check("%y: tensor<2x2xf32> = matmul(%x)", "y", "1 operands");
  check("%y: tensor<2x2xf32> = matmul(%x, _)", "y", "operand 1 of matmul is missing");
  check("%y: tensor<2x3xf32> = matmul(%x, %x)", "y", "[2x2] follows");
  check("%y: tensor<2x2xf32> = onnx.Relu()", "y", "0 operands");
  check("%y: tensor<2x2xf32> = onnx.Relu(%x, %x)", "y", "2 operands");
  check("onnx.Relu(%x)", "onnx.Relu", "0 results");
  check("%y: tensor<2x2xf32> = onnx.Clip(_, %x)", "y", "operand 0 of onnx.Clip is missing");
}

TEST_CASE("absent operands at the end are none too many") {
  parse_whole("%x: tensor<2xf32> = input()\n%y: tensor<2xf32> = onnx.Relu(%x, _)\noutput(%y)\n");
}

TEST_CASE("inputs and outputs are told apart by name") {
  const Graph graph = parse_whole(
      "%x: tensor<1xf32> = input()\n%y: tensor<1xf32> = input()\noutput(%x)\noutput(%y)\n");
  CHECK(graph.name(graph.inputs()[1]) == "y");
  CHECK(graph.name(graph.outputs()[0]) == "x");
  CHECK(mentions(refusal("%x: tensor<1xf32> = input()\noutput(%x)\noutput(%x)\n").message,
                 "line 3, column 1: two outputs are called 'x'"));
  CHECK(mentions(refusal("%x: tensor<1xf32> = input() {name = \"i\"}\n"
                         "%y: tensor<1xf32> = input() {name = \"i\"}\n")
                     .message,
                 "line 2, column 1: two inputs are called 'i'"));
}
