// fake_quantize as quantize and dequantize: types, what is refused, and back.
#include <fmt/format.h>

#include "methods/fake_quantize/lower.hpp"

using namespace quadrant;
using test::generic;
using test::gpu;
using test::kinds_of;
using test::parsed;
using test::type_of;
using test::value_of;

namespace {

// A fake_quantize of an input of two channels.
std::string activation(std::string_view bounds, int levels = 256, std::string_view shape = "1") {
  std::string text = "graph {opset = 21}\n%x: tensor<1x2x2x2xf32> = input()\n";
  const std::vector<std::string> names{"il", "ih", "ol", "oh"};
  std::size_t begin = 0;
  for (const std::string& name : names) {
    const std::size_t end = std::min(bounds.find(';', begin), bounds.size());
    text += fmt::format("%{}: tensor<{}xf32> = constant() [{}]\n", name, shape,
                        bounds.substr(begin, end - begin));
    begin = end + 1;
  }
  return text + fmt::format(
                    "%y: tensor<1x2x2x2xf32> = fake_quantize(%x, %il, %ih, %ol, %oh) "
                    "{{name = \"fq\", levels = {}}}\noutput(%y)\n",
                    levels);
}

SplitGraph split(std::string_view text, const FakeQuantizeOptions& options = {}) {
  SplitGraph result = value_of(split_fake_quantize(parsed(text), options));
  const auto verified = verify(result.graph);
  REQUIRE_MESSAGE(verified, (verified ? std::string() : to_string(verified.error())));
  return result;
}

std::string uniform(std::string_view inside) {
  return fmt::format("tensor<1x2x2x2x!quant.uniform<{}>>", inside);
}

}  // namespace

TEST_CASE("types of codes, by range and target") {
  struct Row {
    std::string bounds;
    int levels;
    FakeQuantizeOptions options;
    std::string type;
  };
  const std::vector<Row> rows{
      {"0;2.55;0;2.55", 256, gpu, "u8:f32, 0.01"},
      {"-1.28;1.27;-1.28;1.27", 256, gpu, "i8:f32, 0.01"},
      {"-1.28;1.27;-1.28;1.27", 256, {}, "u8:f32, 0.01:128"},
      {"-1.27;1.27;-1.27;1.27", 255, gpu, "i8<-127:127>:f32, 0.01"},
      {"-0.5;2.05;-0.5;2.05", 256, gpu, "u8:f32, 0.01:50"},
      {"0;1.5;0;1.5", 16, gpu, "u8<0:15>:f32, 0.1"},
      {"0;1.5;0;1.5", 16, generic, "u4:f32, 0.1"},
      {"-0.8;0.7;-0.8;0.7", 16, generic, "i4:f32, 0.1"},
      {"0;1.28;0;1.28", 129, gpu, "u8<0:128>:f32, 0.01"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.type);
    const SplitGraph result = split(activation(row.bounds, row.levels), row.options);
    CHECK(result.notes.empty());
    CHECK(kinds_of(result.graph) == "quantize, dequantize");
    CHECK(type_of(result.graph, "y_quantized") == uniform(row.type));
    CHECK(type_of(result.graph, "y") == "tensor<1x2x2x2xf32>");
  }
  const SplitGraph mirrored = split(activation("-1;2;-1;2"), gpu);
  const auto& type = *mirrored.graph.type(mirrored.graph.find_value("y_quantized")).uniform();
  CHECK(read_scales(type.scales)->front() == doctest::Approx(0.0117647));
  CHECK(read_integers(type.zero_points)->front() == 85);
}

TEST_CASE("an output range of its own gives the codes another meaning") {
  const SplitGraph result = split(activation("0;4;10;0", 5), gpu);
  CHECK(kinds_of(result.graph) == "quantize, storage_cast, storage_cast, dequantize");
  CHECK(type_of(result.graph, "y_quantized") == uniform("u8<0:4>:f32, 1.0"));
  CHECK(type_of(result.graph, "y_recast") == uniform("u8<0:4>:f32, -2.5:4"));
  const Tensor x = Tensor::from_values<float>(ElementType::float32, Shape{1, 2, 2, 2},
                                              std::vector<float>{0, 1, 3, 4, -1, 5, .4F, 1.6F});
  CHECK(test::run(result.graph, {x}) ==
        std::vector<float>{10, 7.5F, 2.5F, 0, 10, 0, 10, 5});  // a negative multiplier
}

TEST_CASE("the pair computes what fake_quantize does") {
  const std::vector<std::tuple<std::string, int, std::string>> rows{
      {"0;2.55;0;2.55", 256, "1"},
      {"-1.28;1.27;-1.28;1.27", 256, "1"},
      {"-1.27, -2.54;1.27, 2.54;-1.27, -2.54;1.27, 2.54", 255, "1x2x1x1"},
      {"-1;2;-0.5;1", 256, "1"},
      {"-1;2;2;-1", 16, "1"},
  };
  for (const auto& [bounds, levels, shape] : rows) {
    for (const KernelsTarget target : low_precision_targets) {
      CAPTURE(bounds);
      const std::string text = activation(bounds, levels, shape);
      const SplitGraph result = split(text, {.target = target});
      CHECK(result.splits.size() == 1);
      CHECK(test::distance(parsed(text), result.graph, -3, 3) < 1e-6);
    }
  }
}

TEST_CASE("what is no grid with a zero is reported, and repaired on request") {
  struct Row {
    std::string bounds;
    std::string shape;
    std::string reason;
    bool repairs;
  };
  const std::vector<Row> rows{
      {"-1;1;-1;1", "1", "zero is 0.5 steps off the grid of the input range", true},
      {"1;3.55;1;3.55", "1", "zero is no value of the input range", true},
      {"0;2.55;1;3.55", "1", "zero is no value of the output range", true},
      {"0, 0;1, 0;0, 0;1, 0", "1x2x1x1", "the input range of channel 1 has no length", false},
      {"0, 0;1, 1;0, 3;1, 3", "1x2x1x1", "the output range of channel 1 has no length", false},
      {"4;0;0;4", "1", "the input range of channel 0 runs backwards", false},
      {"0;inf;0;1", "1", "a bound of channel 0 is not finite", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.bounds);
    const SplitGraph kept = split(activation(row.bounds, 256, row.shape), gpu);
    CHECK(kinds_of(kept.graph) == "fake_quantize");
    REQUIRE(kept.notes.size() == 1);
    CHECK(kept.notes[0].name == "y");
    CHECK_MESSAGE(kept.notes[0].reason.starts_with(row.reason), kept.notes[0].reason);
    CHECK((kept.notes[0].reason.find("repair_ranges") != std::string::npos) == row.repairs);
    FakeQuantizeOptions options = gpu;
    options.repair = true;
    const SplitGraph moved = split(activation(row.bounds, 256, row.shape), options);
    CHECK(kinds_of(moved.graph).starts_with("quantize") == row.repairs);
    CHECK(moved.notes.size() == 1);
  }
}

TEST_CASE("zero beside the grid by a little is the nearest code, and reported") {
  // As float16 has it; 127.9816 steps below zero.
  const std::string bounds = "-4.15234375;4.12109375;-4.15234375;4.12109375";
  const SplitGraph near = split(activation(bounds), gpu);
  CHECK(kinds_of(near.graph).starts_with("quantize"));
  REQUIRE(near.notes.size() == 1);
  CHECK(near.notes[0].reason.starts_with("zero is 0.0184 steps off the grid"));
  CHECK(near.notes[0].reason.ends_with("the nearest code stands for it"));
  FakeQuantizeOptions strict = gpu;
  strict.zero_tolerance = 0.01;
  CHECK(kinds_of(split(activation(bounds), strict).graph) == "fake_quantize");
}

TEST_CASE("a repaired range holds what it held, to half a step") {
  FakeQuantizeOptions options = gpu;
  options.repair = true;
  const SplitGraph shifted = split(activation("-1;1;-1;1"), options);
  const auto& type = *shifted.graph.type(shifted.graph.find_value("y_quantized")).uniform();
  CHECK(read_scales(type.scales)->front() == doctest::Approx(2.0 / 255));
  CHECK(shifted.notes[0].reason.find("it was moved to -1.0039") != std::string::npos);
  const SplitGraph stretched = split(activation("1;2.55;1;2.55"), options);
  CHECK(type_of(stretched.graph, "y_quantized") == uniform("u8:f32, 0.01"));
}

TEST_CASE("two levels are not moved: they would be other numbers") {
  FakeQuantizeOptions options = gpu;
  options.repair = true;
  const SplitGraph two = split(activation("-1;1;-1;1", 2), options);
  CHECK(kinds_of(two.graph) == "fake_quantize");
  CHECK(
      two.notes[0].reason ==
      "zero is 0.5 steps off the grid of the input range of channel 0, -1 to 1, of which there are "
      "too few to move them");
}

TEST_CASE("more levels than codes have, and bounds that are no channels', stay") {
  CHECK(split(activation("0;1;0;1", 65536)).notes[0].reason ==
        "65536 levels are more than 8 bits hold");
  CHECK(split(activation("0,0,0,0;1,2,3,4;0,0,0,0;1,2,3,4", 256, "1x2x2x1")).notes[0].reason ==
        "its bounds differ along several axes");
}

TEST_CASE("weights become codes, read or computed when they are read") {
  constexpr std::string_view text = R"(
graph {opset = 21}
%w: tensor<3x2xf32> = constant() [-1.27, 0.004, 0.5, 2.54, 7, 7]
%il: tensor<3x1xf32> = constant() [-1.27, -2.54, 0]
%ih: tensor<3x1xf32> = constant() [1.27, 2.54, 0]
%y: tensor<3x2xf32> = fake_quantize(%w, %il, %ih, %il, %ih) {levels = 255}
output(%y)
)";
  const SplitGraph result = split(text);
  CHECK(kinds_of(result.graph) == "dequantize");
  const Value codes = result.graph.find_value("y_quantized");
  CHECK(*read_integers(*result.graph.constant(codes.node)) ==
        std::vector<std::int64_t>{-127, 0, 25, 127, 0, 0});  // the last channel is dead
  CHECK(test::run(result.graph, {}) == std::vector<float>{-1.27F, 0, 0.5F, 2.54F, 0, 0});
}

TEST_CASE("a channel that is one number has a code of two levels, too") {
  constexpr std::string_view text = R"(
graph {opset = 21}
%w: tensor<3x2xf32> = constant() [-2, 0, 5, -5, 1, 1]
%il: tensor<3x1xf32> = constant() [-2, 0.5, 0]
%ih: tensor<3x1xf32> = constant() [0, 0.5, 0]
%y: tensor<3x2xf32> = fake_quantize(%w, %il, %ih, %il, %ih) {levels = 2}
output(%y)
)";
  const SplitGraph result = split(text);
  REQUIRE(kinds_of(result.graph) == "dequantize");
  const NodeId codes = result.graph.find_value("y_quantized").node;
  const UniformType& type = *result.graph.type({codes}).uniform();
  const std::vector<std::int64_t> all = *read_integers(*result.graph.constant(codes));
  for (const std::int64_t code : all) {
    CHECK(code >= type.storage_min);
    CHECK(code <= type.storage_max);
  }
  CHECK(test::run(result.graph, {}) == std::vector<float>{-2, 0, 0.5F, 0.5F, 0, 0});
}

TEST_CASE("both ways to hold integer weights give the same integers") {
  // u8 - 127 = i8, as OpenVINO's older and newer files have it.
  const SplitGraph older = split(R"(
graph {opset = 21}
%u: tensor<2x2xu8> = constant() [0, 127, 200, 254]
%w: tensor<2x2xf32> = cast(%u) {to = 1}
%il: tensor<1xf32> = constant() [0]
%ih: tensor<1xf32> = constant() [254]
%ol: tensor<2x1xf32> = constant() [-0.47876, -1.27]
%oh: tensor<2x1xf32> = constant() [0.47876, 1.27]
%y: tensor<2x2xf32> = fake_quantize(%w, %il, %ih, %ol, %oh) {levels = 255}
output(%y)
)");
  const SplitGraph newer = split(R"(
graph {opset = 21}
%i: tensor<2x2xi8> = constant() [-127, 0, 73, 127]
%w: tensor<2x2xf32> = cast(%i) {to = 1}
%s: tensor<2x1xf32> = constant() [0.00376976, 0.01]
%y: tensor<2x2xf32> = multiply(%w, %s)
output(%y)
)");
  const auto codes = [](const SplitGraph& result) {
    const Value value = result.graph.find_value("y_quantized");
    return *read_integers(*result.graph.constant(value.node));
  };
  CHECK(kinds_of(older.graph) == "dequantize");
  CHECK(kinds_of(newer.graph) == "dequantize");
  CHECK(codes(older) == std::vector<std::int64_t>{-127, 0, 73, 127});
  CHECK(codes(newer) == codes(older));
  const auto a = test::run(older.graph, {});
  const auto b = test::run(newer.graph, {});
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-6));
}

TEST_CASE("stored weights with zero points, of 4 bits, and in blocks") {
  const SplitGraph result = split(R"(
graph {opset = 21}
%u: tensor<2x2x2xu4> = constant() [0, 15, 8, 9, 1, 2, 3, 4]
%uf: tensor<2x2x2xf16> = cast(%u) {to = 10}
%z: tensor<2x2x1xu4> = constant() [8, 8, 1, 0]
%zf: tensor<2x2x1xf16> = cast(%z) {to = 10}
%d: tensor<2x2x2xf16> = onnx.Sub(%uf, %zf)
%s: tensor<2x2x1xf16> = constant() [0.5, 1, 2, 4]
%m: tensor<2x2x2xf16> = multiply(%d, %s)
%y: tensor<2x2x2xf32> = cast(%m) {to = 1}
output(%y)
)");
  CHECK(kinds_of(result.graph) == "dequantize, cast");
  CHECK(result.graph.type(result.graph.find_value("m_quantized")).uniform()->granularity ==
        Granularity::per_block(2, 2));
  CHECK(test::run(result.graph, {}) == std::vector<float>{-4, 3.5F, 0, 1, 0, 2, 12, 16});
}

TEST_CASE("a product of real numbers is none of these") {
  constexpr std::string_view text = R"(
graph {opset = 21}
%x: tensor<2xf32> = input()
%s: tensor<2xf32> = constant() [1, 2]
%y: tensor<2xf32> = multiply(%x, %s)
output(%y)
)";
  const SplitGraph result = split(text);
  CHECK(result.notes.empty());
  CHECK(kinds_of(result.graph) == "multiply");
}

TEST_CASE("fused back, it is the model that it was") {
  for (const char* bounds : {"0;2.55;0;2.55", "0;2.55;0;5.1"}) {
    const Graph model = parsed(activation(bounds));
    SplitGraph result = value_of(split_fake_quantize(model));
    CHECK(fuse_back_fake_quantize(result.graph, result.splits) == 1);
    CHECK(print_graph(result.graph) == print_graph(model));
  }
}

TEST_CASE("codes that are read stay a pair") {
  SplitGraph result = split(activation("0;2.55;0;2.55"));
  result.graph.add_output("codes", result.graph.find_value("y_quantized"));
  CHECK(fuse_back_fake_quantize(result.graph, result.splits) == 0);
  CHECK(kinds_of(result.graph) == "quantize, dequantize");
}
