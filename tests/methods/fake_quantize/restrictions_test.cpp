// The seed's six restrictions, a case each: what must be supported, and where it is refused.
#include <fmt/format.h>

#include "methods/fake_quantize/lower.hpp"

using namespace quadrant;
using test::cpu;
using test::generic;
using test::gpu;
using test::kinds_of;
using test::lowered;
using test::parsed;
using test::reason;
using test::type_of;

namespace {

// A constant of numbers, and a fake_quantize between them in place of `name`.
std::string fake_quantize(std::string_view name, std::string_view of, std::string_view type,
                          std::string_view low, std::string_view high,
                          std::string_view bounds = "1", int levels = 256) {
  return fmt::format(
      "%{0}l: tensor<{5}xf32> = constant() [{3}]\n"
      "%{0}h: tensor<{5}xf32> = constant() [{4}]\n"
      "%{0}: tensor<{2}xf32> = fake_quantize(%{1}, %{0}l, %{0}h, %{0}l, %{0}h) {{levels = {6}}}\n",
      name, of, type, low, high, bounds, levels);
}

// Weights [2, 2, 1, 1] of a convolution.
std::string weight(std::string_view low = "-1.27", std::string_view high = "1.27",
                   std::string_view bounds = "1", int levels = 255) {
  return "%wr: tensor<2x2x1x1xf32> = constant() [0.5, -1, 0.25, 0.125]\n" +
         fake_quantize("w", "wr", "2x2x1x1", low, high, bounds, levels);
}

std::string two_inputs(std::string_view first, std::string_view second) {
  return fmt::format(
      "graph {{opset = 21}}\n%x: tensor<1x2x3x3xf32> = input()\n%y: tensor<1x2x3x3xf32> = "
      "input()\n{}{}",
      first, second);
}

const std::string head = "graph {opset = 21}\n%x: tensor<1x2x3x3xf32> = input()\n";

}  // namespace

TEST_CASE("1 mixed precision: layers without a fake_quantize stay real") {
  const std::string text = head + fake_quantize("q", "x", "1x2x3x3", "0", "2.55") + weight() +
                           "%c: tensor<1x2x3x3xf32> = conv(%q, %w)\n"
                           "%s: tensor<1x2x3x3xf32> = onnx.Sigmoid(%c)\n"
                           "%d: tensor<1x2x3x3xf32> = conv(%s, %wr)\n" +
                           fake_quantize("e", "d", "1x2x3x3", "0", "2.55") +
                           "%f: tensor<1x2x3x3xf32> = conv(%e, %w)\noutput(%f)\n";
  const Graph model = parsed(text);
  const LowPrecision result = lowered(model);
  CHECK(kinds_of(result.graph) ==
        "quantize, conv, dequantize, onnx.Sigmoid, conv, quantize, conv, dequantize");
  CHECK(type_of(result.graph, "d") == "tensor<1x2x3x3xf32>");
  CHECK(reason(result, "s") == "scheme 'fake_quantize' has no method for 'onnx.Sigmoid'");
  CHECK(reason(result, "d").ends_with("its data is float"));
  CHECK(test::distance(model, result.graph, 0, 2.5F) < 0.0125);  // a tie in %e, times 1.25
}

TEST_CASE("2 weights have a scale for each channel of the result") {
  const std::string conv = head + fake_quantize("q", "x", "1x2x3x3", "0", "2.55") +
                           weight("-1.27, -0.254", "1.27, 0.254", "2x1x1x1") +
                           "%c: tensor<1x2x3x3xf32> = conv(%q, %w)\noutput(%c)\n";
  const LowPrecision result = lowered(conv);
  CHECK(kinds_of(result.graph) == "quantize, conv, dequantize");
  CHECK(test::distance(parsed(conv), result.graph, 0, 3) < 1e-5);

  const std::string connected =
      "graph {opset = 21}\n%x: tensor<3x2xf32> = input()\n" +
      fake_quantize("q", "x", "3x2", "-1", "1.55") +
      "%wr: tensor<4x2xf32> = constant() [0.5, -1, 0.25, 0.125, 1, 0.75, -0.5, 0]\n" +
      fake_quantize("w", "wr", "4x2", "-1.27, -1, -0.5, -0.25", "1.27, 1, 0.5, 0.25", "4x1", 255) +
      "%t: tensor<2x4xf32> = transpose(%w) {perm = [1, 0]}\n"
      "%m: tensor<3x4xf32> = matmul(%q, %t)\noutput(%m)\n";
  const LowPrecision product = lowered(connected);
  CHECK(kinds_of(product.graph) == "transpose, quantize, matmul, dequantize");
  CHECK(test::distance(parsed(connected), product.graph, -1, 2) < 1e-5);

  // Along what is summed up, there is no one factor.
  const std::string inner = head + fake_quantize("q", "x", "1x2x3x3", "0", "2.55") +
                            weight("-1.27, -1", "1.27, 1", "1x2x1x1") +
                            "%c: tensor<1x2x3x3xf32> = conv(%q, %w)\noutput(%c)\n";
  const LowPrecision refused = lowered(inner);
  CHECK(reason(refused, "c")
            .ends_with("the scales of its weight are along an axis that is summed up"));
  CHECK(refused.fused_back == 1);
}

TEST_CASE("3 activations have a scale for each channel: depthwise") {
  const std::string text =
      head + fake_quantize("q", "x", "1x2x3x3", "0, -1", "2.55, 1.55", "1x2x1x1") +
      "%wr: tensor<2x1x1x1xf32> = constant() [0.5, -1]\n" +
      fake_quantize("w", "wr", "2x1x1x1", "-1.27, -1", "1.27, 1", "2x1x1x1", 255) +
      "%b: tensor<2xf32> = constant() [0.5, -0.25]\n"
      "%c: tensor<1x2x3x3xf32> = conv(%q, %w, %b) {group = 2}\noutput(%c)\n";
  const Graph model = parsed(text);
  for (const auto& options : {cpu, gpu, generic}) {
    const LowPrecision result = lowered(model, options);
    CHECK(kinds_of(result.graph) == "quantize, conv, dequantize");
    CHECK(test::distance(model, result.graph, -1, 3) < 1e-4);
  }
}

TEST_CASE("3 activations have a scale for each channel: Add, Mul, ScaleShift") {
  const std::string add =
      two_inputs(fake_quantize("a", "x", "1x2x3x3", "0, -1", "2.55, 1.55", "1x2x1x1"),
                 fake_quantize("b", "y", "1x2x3x3", "-0.5", "2.05")) +
      "%s: tensor<1x2x3x3xf32> = {}(%a, %b)\noutput(%s)\n";
  for (const std::string_view kind : {"add", "onnx.Sub", "multiply"}) {
    const Graph model = parsed(std::string(add).replace(add.find("{}("), 2, kind));
    const LowPrecision result = lowered(model);
    CHECK(kinds_of(result.graph) == fmt::format("quantize, quantize, {}, dequantize", kind));
    CHECK(result.graph.type(result.graph.find_value("s_quantized")).uniform()->granularity ==
          Granularity::per_axis(1));
    CHECK(test::distance(model, result.graph, -1, 3) < 0.01 / 131072 + 1e-6);
  }
  const std::string shift = head + fake_quantize("q", "x", "1x2x3x3", "-1", "1.55") +
                            "%k: tensor<1x2x1x1xf32> = constant() [2, -0.5]\n"
                            "%m: tensor<1x2x3x3xf32> = multiply(%q, %k)\n"
                            "%b: tensor<1x2x1x1xf32> = constant() [0.7, 0.123]\n"
                            "%s: tensor<1x2x3x3xf32> = add(%m, %b)\n" +
                            fake_quantize("r", "s", "1x2x3x3", "-1.28", "1.27") +
                            "%t: tensor<1x2x3x3xf32> = onnx.MaxPool(%r) {kernel_shape = [1, 1]}\n"
                            "output(%t)\n";
  const Graph model = parsed(shift);
  const LowPrecision result = lowered(model, gpu);
  CHECK(kinds_of(result.graph) ==
        "quantize, storage_cast, storage_cast, add, onnx.MaxPool, dequantize");
  CHECK(test::distance(model, result.graph, -1, 2) < 0.0101);
}

TEST_CASE("3 activations have a scale for each channel: not where channels are summed up") {
  const LowPrecision result =
      lowered(head + fake_quantize("q", "x", "1x2x3x3", "0, -1", "2.55, 1.55", "1x2x1x1") +
              weight() + "%c: tensor<1x2x3x3xf32> = conv(%q, %w)\noutput(%c)\n");
  CHECK(reason(result, "c").ends_with("its data has scales along an axis that is summed up"));
  CHECK(kinds_of(result.graph) == "dequantize, fake_quantize, conv");
}

TEST_CASE("3 activations have a scale for each channel: as long as channels stay in their places") {
  const auto why = [](std::string_view operation) {
    const LowPrecision result =
        lowered(head + fake_quantize("q", "x", "1x2x3x3", "0, -1", "2.55, 1.55", "1x2x1x1") +
                "%lists: tensor<1xi64> = constant() [1]\n%ends: tensor<1xi64> = constant() [-5]\n"
                "%back: tensor<1xi64> = constant() [-1]\n" +
                std::string(operation) + "\noutput(%y)\n");
    return result.graph.find_value("y_quantized").is_absent() ? reason(result, "y") : "codes";
  };
  constexpr std::string_view scattered = "channels of different scales do not stay together";
  CHECK(why("%y: tensor<1x2x3x3xf32> = onnx.MaxPool(%q) {kernel_shape = [1, 1]}") == "codes");
  CHECK_FALSE(why("%y: tensor<1x2x5x3xf32> = onnx.Pad(%q) {pads = [0, 0, 1, 0, 0, 0, 1, 0]}")
                  .ends_with(scattered));
  CHECK(why("%y: tensor<1x2x3x3xf32> = onnx.Pad(%q) {pads = [0, 1, 0, 0, 0, -1, 0, 0]}")
            .ends_with(scattered));
  CHECK(why("%y: tensor<1x2x3x3xf32> = slice(%q, %lists, %ends, %lists, %back)")
            .ends_with(scattered));
  CHECK(why("%y: tensor<1x3x2x3xf32> = transpose(%q) {perm = [0, 2, 1, 3]}") == "codes");
}

TEST_CASE("4 symmetric and asymmetric, of data and weights, with zero points for each channel") {
  struct Row {
    std::string low, high;    // of the data
    std::string wlow, whigh;  // of the weight
    std::string shape;
  };
  const std::vector<Row> rows{
      {"-1.28", "1.27", "-1.27", "1.27", "1"},
      {"-0.5", "2.05", "-1.27, -1", "1.27, 1", "2x1x1x1"},
      {"0", "2.55", "-1, -0.5", "1.54, 0.77", "2x1x1x1"},  // weights with zero points
      {"-2.55", "0", "-1.27", "0", "1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.wlow);
    const std::string text = head + fake_quantize("q", "x", "1x2x3x3", row.low, row.high) +
                             weight(row.wlow, row.whigh, row.shape, row.whigh == "0" ? 128 : 255) +
                             "%b: tensor<2xf32> = constant() [0.5, -0.25]\n"
                             "%c: tensor<1x2x3x3xf32> = conv(%q, %w, %b)\noutput(%c)\n";
    const Graph model = parsed(text);
    for (const auto& options : {cpu, gpu, generic}) {
      const LowPrecision result = lowered(model, options);
      CHECK(result.notes.empty());
      CHECK(kinds_of(result.graph) == "quantize, conv, dequantize");
      CHECK(test::distance(model, result.graph, -3, 3) < 1e-4);  // half a step of the sums
    }
  }
}

TEST_CASE("5 operands of an Add and of a Concat have parameters of their own") {
  const std::string inputs = two_inputs(fake_quantize("a", "x", "1x2x3x3", "0", "2.55"),
                                        fake_quantize("b", "y", "1x2x3x3", "-1.28", "1.27"));
  const Graph sum = parsed(inputs + "%s: tensor<1x2x3x3xf32> = add(%a, %b)\n" +
                           fake_quantize("r", "s", "1x2x3x3", "-1", "4.1") +
                           "%t: tensor<1x2x3x3xf32> = onnx.Relu(%r)\noutput(%t)\n");
  const LowPrecision added = lowered(sum, gpu);
  CHECK(kinds_of(added.graph) == "quantize, quantize, add, onnx.Relu, dequantize");
  CHECK(test::distance(sum, added.graph, -2, 3) < 0.0201);  // a step of %r, on a tie

  // Data of a depthwise convolution may differ from channel to channel: nothing is unified.
  const std::string depthwise = inputs +
                                "%s: tensor<1x4x3x3xf32> = concat(%a, %b) {axis = 1}\n"
                                "%wr: tensor<4x1x1x1xf32> = constant() [0.5, -1, 1, 0.25]\n" +
                                fake_quantize("w", "wr", "4x1x1x1", "-1.27", "1.27", "1", 255) +
                                "%c: tensor<1x4x3x3xf32> = conv(%s, %w) {group = 4}\noutput(%c)\n";
  const LowPrecision joined = lowered(depthwise);
  CHECK(joined.notes.empty());
  CHECK(kinds_of(joined.graph) == "quantize, quantize, concat, conv, dequantize");
  CHECK(test::distance(parsed(depthwise), joined.graph, -2, 3) < 1e-5);
}

TEST_CASE("6 results of the model are real numbers, and nothing is quantized there") {
  const LowPrecision result =
      lowered(head + fake_quantize("q", "x", "1x2x3x3", "0", "2.55") + weight() +
              "%c: tensor<1x2x3x3xf32> = conv(%q, %w)\noutput(%c)\noutput(%q)\n");
  for (const NodeId output : result.graph.outputs()) {
    CHECK_FALSE(result.graph.type(result.graph.operands(output).front()).is_quantized());
  }
  CHECK(kinds_of(result.graph) == "quantize, conv, dequantize, dequantize");
  CHECK(type_of(result.graph, "q") == "tensor<1x2x3x3xf32>");
  CHECK(type_of(result.graph, "c") == "tensor<1x2x3x3xf32>");
}

TEST_CASE("INT4: weights of 16 levels, in 4 bits or in 8") {
  const std::string text = head + fake_quantize("q", "x", "1x2x3x3", "0", "1.5", "1", 16) +
                           weight("-0.8", "0.7", "1", 16) +
                           "%c: tensor<1x2x3x3xf32> = conv(%q, %w)\noutput(%c)\n";
  const Graph model = parsed(text);
  const LowPrecision narrow = lowered(model, generic);
  CHECK(type_of(narrow.graph, "w_quantized") == "tensor<2x2x1x1x!quant.uniform<i4:f32, 0.1>>");
  CHECK(type_of(narrow.graph, "q_quantized") == "tensor<1x2x3x3x!quant.uniform<u4:f32, 0.1>>");
  const LowPrecision wide = lowered(model, cpu);
  CHECK(type_of(wide.graph, "w_quantized") == "tensor<2x2x1x1x!quant.uniform<i8<-8:7>:f32, 0.1>>");
  for (const LowPrecision* const result : {&narrow, &wide}) {
    CHECK(kinds_of(result->graph) == "quantize, conv, dequantize");
    CHECK(test::distance(model, result->graph, 0, 2) < 1e-5);
  }
}

TEST_CASE("each target's table names types for each port") {
  for (const KernelsTarget target : low_precision_targets) {
    const auto rules = describe_low_precision(target);
    REQUIRE(!rules.empty());
    CHECK(rules.front().kind == "conv");
    CHECK(rules.front().granularity == "tensor; channel where depthwise");
    CHECK(parse_kernels_target(to_string(target)) == target);
  }
  CHECK(describe_low_precision(KernelsTarget::openvino_cpu).front().data == "u8");
  CHECK(describe_low_precision(KernelsTarget::openvino_gpu).front().data == "i8, u8");
  CHECK(describe_low_precision(KernelsTarget::openvino_generic).front().weight == "i8, u8, i4, u4");

  // Types that a port does not take: data of i8 on the CPU, weights of u8 everywhere but generic.
  constexpr std::string_view text = R"(
graph {opset = 21}
%xc: tensor<1x2x3x3x!quant.uniform<{0}:f32, 0.1>> = input()
%x: tensor<1x2x3x3xf32> = dequantize(%xc)
%wc: tensor<2x2x1x1x!quant.uniform<{1}:f32, 0.1>> = constant() [1, 2, 3, 4]
%w: tensor<2x2x1x1xf32> = dequantize(%wc)
%c: tensor<1x2x3x3xf32> = conv(%x, %w)
output(%c)
)";
  const auto conv = [&](std::string_view data, std::string_view weights,
                        const FakeQuantizeOptions& options) {
    std::string model(text);
    model.replace(model.find("{0}"), 3, data);
    model.replace(model.find("{1}"), 3, weights);
    return reason(lowered(model, options), "c");
  };
  CHECK(conv("i8", "i8", cpu).ends_with("the target has no kernel for codes of this type"));
  CHECK(conv("u8", "u8", gpu).ends_with("the target has no kernel for a weight of this type"));
  CHECK(conv("i8", "u8", generic).find("kernel") == std::string::npos);
}

TEST_CASE("a gain model says where low precision does not pay") {
  // Dequantizing a sum costs more than a product of one number saves.
  const std::string text =
      "graph {opset = 21}\n%x: tensor<8x1xf32> = input()\n" +
      fake_quantize("q", "x", "8x1", "0", "2.55") +
      "%wr: tensor<1x8xf32> = constant() [0.5, -1, 0.25, 0.125, 1, 0.75, -0.5, 0]\n" +
      fake_quantize("w", "wr", "1x8", "-1.27", "1.27", "1", 255) +
      "%m: tensor<8x8xf32> = matmul(%q, %w)\noutput(%m)\n";
  const LowPrecision result = lowered(text);
  CHECK(result.fused_back == 1);
  CHECK(kinds_of(result.graph) == "dequantize, fake_quantize, matmul");
}

TEST_CASE("targets of other schemes are refused") {
  const auto lowered = quantize_simulated(Graph(), {.target = KernelsTarget::tflite});
  REQUIRE(!lowered);
  CHECK(lowered.error().code == ErrorCode::usage);
  CHECK(lowered.error().message ==
        "fake_quantize is for the kernels of OpenVINO's devices, not of tflite");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("names of 0.1 mean the same") {
  CHECK(LowPrecisionTarget::gpu == KernelsTarget::openvino_gpu);
  CHECK(parse_low_precision_target("generic") == KernelsTarget::openvino_generic);
  CHECK(!parse_low_precision_target("tflite"));
  CHECK(lower_fake_quantize(Graph(), {.target = LowPrecisionTarget::cpu}));
}
#pragma GCC diagnostic pop
