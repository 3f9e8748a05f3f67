// Chains of products and what stands between them: codes from the first fake_quantize to the last.
#include <set>
#include <sstream>
#include <string>

#include "methods/fake_quantize/lower.hpp"
#include "shortened.hpp"

using namespace quadrant;
using test::kinds_of;
using test::lowered;
using test::parsed;
using test::reason;
using test::type_of;

namespace {

// A convolution, its bias as OpenVINO writes it, a PRelu, a depthwise convolution, and a Clip.
constexpr std::string_view chain = R"(
graph {opset = 21}
%x: tensor<1x2x6x6xf32> = input()
%l0: tensor<f32> = constant() [-1.28]
%h0: tensor<f32> = constant() [1.27]
%xq: tensor<1x2x6x6xf32> = fake_quantize(%x, %l0, %h0, %l0, %h0) {levels = 256}
%w: tensor<3x2x3x3xf32> = constant() [0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8, 0.9, -1, 1.1, 0.2, 0.3, -0.4, 0.5, 0.6, -0.7, 0.8, 0.3, 0.2, -0.1, 0.5, 0.4, -0.9, 0.7, -0.6, 0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.9, 0.1, -0.5, 0.6, 0.2, -0.3, 0.1, -0.2, 0.4, 0.5, -0.7, 0.3, 0.8, -0.1, 0.2, 0.6, -0.4, 0.9, 0.7, -0.3]
%wl: tensor<3x1x1x1xf32> = constant() [-1.27, -0.9, -1]
%wh: tensor<3x1x1x1xf32> = constant() [1.27, 0.9, 1]
%wq: tensor<3x2x3x3xf32> = fake_quantize(%w, %wl, %wh, %wl, %wh) {levels = 255}
%c: tensor<1x3x4x4xf32> = conv(%xq, %wq) {kernel_shape = [3, 3]}
%b: tensor<1x3x1x1xf32> = constant() [0.5, -0.25, 0.1]
%cb: tensor<1x3x4x4xf32> = add(%c, %b)
%s: tensor<3x1x1xf32> = constant() [0.25, 0.1, 0.3]
%p: tensor<1x3x4x4xf32> = onnx.PRelu(%cb, %s)
%l1: tensor<f32> = constant() [-0.5]
%h1: tensor<f32> = constant() [4.6]
%pq: tensor<1x3x4x4xf32> = fake_quantize(%p, %l1, %h1, %l1, %h1) {levels = 256}
%d: tensor<3x1x3x3xf32> = constant() [0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8, 0.9, -1, 0.1, 0.2, 0.3, -0.4, 0.5, 0.6, -0.7, 0.8, 0.3, 0.2, -0.1, 0.5, 0.4, -0.9, 0.7, -0.6, 0.1]
%dl: tensor<3x1x1x1xf32> = constant() [-1, -1, -0.9]
%dh: tensor<3x1x1x1xf32> = constant() [1, 1, 0.9]
%dq: tensor<3x1x3x3xf32> = fake_quantize(%d, %dl, %dh, %dl, %dh) {levels = 255}
%db: tensor<3xf32> = constant() [0.125, 0, -1]
%e: tensor<1x3x2x2xf32> = conv(%pq, %dq, %db) {kernel_shape = [3, 3], group = 3}
%zero: tensor<f32> = constant() [0]
%six: tensor<f32> = constant() [6]
%r: tensor<1x3x2x2xf32> = onnx.Clip(%e, %zero, %six)
%l2: tensor<f32> = constant() [0]
%h2: tensor<f32> = constant() [5.1]
%rq: tensor<1x3x2x2xf32> = fake_quantize(%r, %l2, %h2, %l2, %h2) {levels = 256}
output(%rq)
)";

}  // namespace

TEST_CASE("a chain computes on codes from its input to its output") {
  const Graph model = parsed(chain);
  for (const KernelsTarget target : low_precision_targets) {
    const LowPrecision result = lowered(model, {.target = target});
    CHECK(result.notes.empty());
    CHECK(result.fused_back == 0);
    CHECK(kinds_of(result.graph) == "quantize, conv, add, onnx.PRelu, conv, onnx.Clip, dequantize");
    CHECK(type_of(result.graph, "c").starts_with("tensor<1x3x4x4x!quant.uniform<i32:f32:1, {"));
    CHECK(type_of(result.graph, "cb").starts_with("tensor<1x3x4x4x!quant.uniform<i32:f32:1, {"));
    CHECK(type_of(result.graph, "pq_quantized") ==
          "tensor<1x3x4x4x!quant.uniform<u8:f32, 0.02:25>>");
    CHECK(type_of(result.graph, "rq_quantized") == "tensor<1x3x2x2x!quant.uniform<u8:f32, 0.02>>");
    CHECK(type_of(result.graph, "rq") == "tensor<1x3x2x2xf32>");
    // One step of the last fake_quantize, where a sum lies on a tie and its bias was rounded.
    CHECK(test::distance(model, result.graph, -1.5F, 1.5F) < 0.0201);
  }
}

TEST_CASE("biases are codes in the scale of the products, or a 32nd of it behind them") {
  const LowPrecision result = lowered(chain, {.target = KernelsTarget::openvino_gpu});
  const Value b = result.graph.find_value("b_quantized");
  REQUIRE(!b.is_absent());
  CHECK(result.graph.type(b).element == ElementType::int32);
  CHECK(result.graph.type(b).uniform()->granularity == Granularity::per_axis(1));
  // 32 times 0.5 / (0.01 * 0.01), -0.25 / (0.01 * 0.9 / 127), 0.1 / (0.01 * 1 / 127)
  CHECK(*read_integers(*result.graph.constant(b.node)) ==
        std::vector<std::int64_t>{160000, -112889, 40640});
  const Value db = result.graph.find_value("db_quantized");
  REQUIRE(!db.is_absent());
  CHECK(result.graph.type(db).uniform()->granularity == Granularity::per_axis(0));
  // 0.125 / (0.02 / 127), -1 / (0.02 * 0.9 / 127)
  CHECK(*read_integers(*result.graph.constant(db.node)) ==
        std::vector<std::int64_t>{794, 0, -7056});
}

TEST_CASE("a result in real numbers is dequantized once, from the sum") {
  constexpr std::string_view text = R"(
graph {opset = 21}
%x: tensor<2x8xf32> = input()
%l: tensor<f32> = constant() [0]
%h: tensor<f32> = constant() [2.55]
%xq: tensor<2x8xf32> = fake_quantize(%x, %l, %h, %l, %h) {levels = 256}
%i: tensor<8x4xi8> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32]
%f: tensor<8x4xf32> = cast(%i) {to = 1}
%s: tensor<1x4xf32> = constant() [0.01, 0.02, 0.03, 0.04]
%w: tensor<8x4xf32> = multiply(%f, %s)
%m: tensor<2x4xf32> = matmul(%xq, %w)
%b: tensor<4xf32> = constant() [1, 2, 3, 4]
%y: tensor<2x4xf32> = add(%m, %b)
output(%y)
)";
  const Graph model = parsed(text);
  const LowPrecision result = lowered(model);
  CHECK(kinds_of(result.graph) == "quantize, matmul, add, dequantize");
  CHECK(type_of(result.graph, "y") == "tensor<2x4xf32>");
  CHECK(type_of(result.graph, "m").starts_with("tensor<2x4x!quant.uniform<i32:f32:1, {"));
  CHECK(test::distance(model, result.graph, 0, 3) < 1e-4);  // half a step of the sums: 2e-4
}

TEST_CASE("zero points of data and weight [hand]") {
  // .05 ((10 - 3) 1 + (20 - 3) 2) = 2.05
  const LowPrecision result = lowered(R"(
graph {opset = 21}
%xc: tensor<1x2x!quant.uniform<u8:f32, 0.5:3>> = input()
%x: tensor<1x2xf32> = dequantize(%xc)
%wc: tensor<2x1x!quant.uniform<i8:f32, 0.1>> = constant() [1, 2]
%w: tensor<2x1xf32> = dequantize(%wc)
%y: tensor<1x1xf32> = matmul(%x, %w)
output(%y)
)");
  CHECK(kinds_of(result.graph) == "matmul, dequantize");
  const Tensor x = Tensor::from_values<std::uint8_t>(ElementType::uint8, Shape{1, 2},
                                                     std::vector<std::uint8_t>{10, 20});
  CHECK(test::run(result.graph, {x}).front() == doctest::Approx(2.05));
}

TEST_CASE("a requantize is the next fake_quantize, on the sum") {
  // s = .01 * .005, next [0, 2.55]: what the sum's codes become.
  const LowPrecision result = lowered(R"(
graph {opset = 21}
%xc: tensor<6x1x!quant.uniform<u8:f32, 0.01>> = input()
%x: tensor<6x1xf32> = dequantize(%xc)
%wc: tensor<1x1x!quant.uniform<i8:f32, 0.005>> = constant() [100]
%w: tensor<1x1xf32> = dequantize(%wc)
%m: tensor<6x1xf32> = matmul(%x, %w)
%l: tensor<f32> = constant() [0]
%h: tensor<f32> = constant() [2.55]
%q: tensor<6x1xf32> = fake_quantize(%m, %l, %h, %l, %h) {levels = 256}
output(%q)
)");
  CHECK(kinds_of(result.graph) == "matmul, dequantize");
  CHECK(type_of(result.graph, "q_quantized") == "tensor<6x1x!quant.uniform<u8:f32, 0.01>>");
  const Tensor x = Tensor::from_values<std::uint8_t>(
      ElementType::uint8, Shape{6, 1}, std::vector<std::uint8_t>{0, 1, 2, 3, 123, 255});
  const auto y = test::run(result.graph, {x});
  const std::vector<int> codes{0, 0, 1, 2, 62, 128};  // of 0, 100 (a tie), 200, 300, 12300, 25500
  for (std::size_t i = 0; i < codes.size(); ++i) {
    // Ties of the sum may fall to either side in float32.
    CHECK(std::abs(y[i] - 0.01F * static_cast<float>(codes[i])) <
          (i == 5 || i == 1 ? 0.0101 : 1e-6));
  }
}

TEST_CASE("the mean of a sum of 32 bits is one of real numbers") {
  const Graph model = parsed(R"(
graph {opset = 21}
%x: tensor<1x2x4x4xf32> = input()
%l: tensor<f32> = constant() [-1.28]
%h: tensor<f32> = constant() [1.27]
%q: tensor<1x2x4x4xf32> = fake_quantize(%x, %l, %h, %l, %h) {levels = 256}
%w: tensor<2x2x1x1x!quant.uniform<i8<-127:127>:f32, 0.1>> = constant() [1, -2, 3, 4]
%wr: tensor<2x2x1x1xf32> = dequantize(%w)
%c: tensor<1x2x4x4xf32> = conv(%q, %wr)
%m: tensor<1x2x1x1xf32> = onnx.GlobalAveragePool(%c)
output(%m)
)");
  const LowPrecision result = lowered(model);
  CHECK(reason(result, "m") == "sums of 32 bits have no room for the sum of several of them");
  CHECK(test::distance(model, result.graph, -1, 1) < 1e-6);
}

TEST_CASE("a value whose readers want other codes, or real numbers, is what its own are") {
  // The first fake_quantize is an output, and is quantized anew for the product.
  for (const std::string_view more :
       {"output(%a)", "%c: tensor<1x2x3x3xf32> = onnx.Sigmoid(%a)\noutput(%c)",
        "%c: tensor<1x2x3x3xf32> = conv(%a, %wr)\noutput(%c)"}) {
    CAPTURE(more);
    const Graph model = parsed(fmt::format(R"(
graph {{opset = 21}}
%x: tensor<1x2x3x3xf32> = input()
%l: tensor<f32> = constant() [-2.321]
%h: tensor<f32> = constant() [3.0595]
%k: tensor<f32> = constant() [-2.5283]
%g: tensor<f32> = constant() [2.3932]
%r: tensor<1x2x3x3xf32> = fake_quantize(%x, %l, %h, %l, %h) {{levels = 256}}
%p: tensor<1x2x3x3xf32> = onnx.Relu(%r)
%a: tensor<1x2x3x3xf32> = fake_quantize(%p, %k, %g, %k, %g) {{levels = 256}}
%e: tensor<f32> = constant() [-3.084]
%f: tensor<f32> = constant() [3.4695]
%b: tensor<1x2x3x3xf32> = fake_quantize(%a, %e, %f, %e, %f) {{levels = 256}}
%w: tensor<2x2x1x1x!quant.uniform<i8<-127:127>:f32, 0.01>> = constant() [1, 2, 3, 4]
%wr: tensor<2x2x1x1xf32> = dequantize(%w)
%y: tensor<1x2x3x3xf32> = conv(%b, %wr)
{}
output(%y)
)",
                                           more));
    CHECK(test::distance(model, lowered(model).graph, -3, 4) < 1e-5);
  }
}

TEST_CASE("what nobody computes on codes with is the fake_quantize that it was") {
  constexpr std::string_view text = R"(
graph {opset = 21}
%x: tensor<2x8xf32> = input()
%l: tensor<f32> = constant() [0]
%h: tensor<f32> = constant() [2.55]
%xq: tensor<2x8xf32> = fake_quantize(%x, %l, %h, %l, %h) {name = "fq", levels = 256}
%y: tensor<2x8xf32> = onnx.Sin(%xq)
output(%y)
)";
  const Graph model = parsed(text);
  const LowPrecision result = lowered(model);
  CHECK(result.fused_back == 1);
  // Constants may come in another order.
  const auto lines = [](const Graph& graph) {
    std::istringstream printed(print_graph(graph));
    std::multiset<std::string> found;
    for (std::string line; std::getline(printed, line);) found.insert(line);
    return found;
  };
  CHECK(lines(result.graph) == lines(model));
  CHECK(test::distance(model, result.graph, 0, 3) == 0);
}

TEST_CASE("moves, pooling and limits hand codes on") {
  constexpr std::string_view text = R"(
graph {opset = 21}
%x: tensor<1x2x4x4xf32> = input()
%l: tensor<f32> = constant() [-1]
%h: tensor<f32> = constant() [1.55]
%xq: tensor<1x2x4x4xf32> = fake_quantize(%x, %l, %h, %l, %h) {levels = 256}
%r: tensor<1x2x4x4xf32> = onnx.Relu(%xq)
%p: tensor<1x2x2x2xf32> = onnx.MaxPool(%r) {kernel_shape = [2, 2], strides = [2, 2]}
%t: tensor<1x2x2x2xf32> = transpose(%p) {perm = [0, 1, 3, 2]}
%g: tensor<1x2x1x1xf32> = onnx.GlobalAveragePool(%t)
%f: tensor<1x2xf32> = flatten(%g)
%wc: tensor<2x2x!quant.uniform<i8:f32, 0.1>> = constant() [1, 2, 3, 4]
%w: tensor<2x2xf32> = dequantize(%wc)
%l1: tensor<f32> = constant() [0]
%h1: tensor<f32> = constant() [2.55]
%fq: tensor<1x2xf32> = fake_quantize(%f, %l1, %h1, %l1, %h1) {levels = 256}
%y: tensor<1x2xf32> = matmul(%fq, %w)
output(%y)
)";
  const Graph model = parsed(text);
  const LowPrecision result = lowered(model);
  CHECK(type_of(result.graph, "p") == "tensor<1x2x2x2x!quant.uniform<u8:f32, 0.01:100>>");
  CHECK(type_of(result.graph, "t") == type_of(result.graph, "p"));
  CHECK(type_of(result.graph, "g") == "tensor<1x2x1x1x!quant.uniform<i32:f32, 0.0025>>");
  CHECK(test::distance(model, result.graph, -1, 2) < 0.0071);  // a tie of the mean, times .7
}

TEST_CASE("a bias that came as codes of the sum stays as it is") {
  const LowPrecision result = lowered(R"(
graph {opset = 21}
%xc: tensor<1x1x4x4x!quant.uniform<u8:f32, 0.5:3>> = input()
%x: tensor<1x1x4x4xf32> = dequantize(%xc)
%wc: tensor<2x1x1x1x!quant.uniform<i8:f32:0, {0.25, 0.5}>> = constant() [1, 2]
%w: tensor<2x1x1x1xf32> = dequantize(%wc)
%bc: tensor<2x!quant.uniform<i32:f32:0, {0.125, 0.25}>> = constant() [100, -7]
%b: tensor<2xf32> = dequantize(%bc)
%y: tensor<1x2x4x4xf32> = conv(%x, %w, %b)
output(%y)
)");
  CHECK(kinds_of(result.graph) == "conv, dequantize");
  const Value conv = result.graph.find_value("y_quantized");
  CHECK(result.graph.value_name(result.graph.operands(conv.node)[2]) == "bc");
}

TEST_CASE("what is not finite, or too large for a sum, keeps an operation real") {
  const auto why = [](std::string_view bias) {
    std::string text(R"(
graph {opset = 21}
%xc: tensor<4x4x!quant.uniform<u8:f32, 1e-4>> = input()
%x: tensor<4x4xf32> = dequantize(%xc)
%wc: tensor<4x4x!quant.uniform<i8:f32, 1e-4>> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]
%w: tensor<4x4xf32> = dequantize(%wc)
%b: tensor<4xf32> = constant() [1, 2, 3, BIAS]
%y: tensor<4x4xf32> = gemm(%x, %w, %b)
output(%y)
)");
    text.replace(text.find("BIAS"), 4, bias);
    return reason(lowered(text), "y");
  };
  CHECK(why("nan").ends_with("its bias is not finite, or needs more than 32 bits"));
  CHECK(why("11").ends_with("its bias is not finite, or needs more than 32 bits"));
  CHECK_FALSE(why("10").ends_with("bits"));
}

namespace {

// A product whose data is u8 0.01, and its weight, of so many ones, i8<-127:127> 0.01.
std::string summed(std::string_view data, std::string_view weight, std::int64_t ones,
                   std::string_view product, std::string_view more = "") {
  std::string list = "1";
  for (std::int64_t i = 1; i < ones; ++i) list += ",1";
  return fmt::format(R"(
graph {{opset = 21}}
%x: tensor<{0}xf32> = input()
%low: tensor<f32> = constant() [0]
%high: tensor<f32> = constant() [2.55]
%q: tensor<{0}xf32> = fake_quantize(%x, %low, %high, %low, %high) {{levels = 256}}
%w: tensor<{1}x!quant.uniform<i8<-127:127>:f32, 0.01>> = constant() [{2}]
%wr: tensor<{1}xf32> = dequantize(%w)
{4}
%y: tensor<*xf32> = {3}
output(%y)
)",
                     data, weight, list, product, more);
}

bool is_on_codes(const std::string& text) {
  return kinds_of(lowered(parsed(text)).graph).find("fake_quantize") == std::string::npos;
}

}  // namespace

TEST_CASE("sums that may need more than 32 bits stay real") {
  // u8 times i8<-127:127>: 255 * 127 * 66311 is the last multiple below 2^31.
  struct Case {
    std::string_view data, weight, product;
  };
  for (const auto& [data, weight, product] :
       {Case{"1x{}", "{}x1", "matmul(%q, %wr)"}, Case{"1x{}", "{}", "matmul(%q, %wr)"},
        Case{"1x{}", "1x{}", "linear(%q, %wr)"}, Case{"1x{}", "1x{}", "gemm(%q, %wr) {transB = 1}"},
        Case{"1x{}x1x1", "1x{}x1x1", "conv(%q, %wr)"},
        Case{"1x{}x1x1", "{}x1x1x1", "conv_transpose(%q, %wr)"}}) {
    CAPTURE(product);
    const auto text = [&](std::int64_t terms) {
      return summed(fmt::format(fmt::runtime(data), terms),
                    fmt::format(fmt::runtime(weight), terms), terms, product);
    };
    CHECK(is_on_codes(text(66311)));
    CHECK_FALSE(is_on_codes(text(66312)));
  }
}

TEST_CASE("a bias takes of the room that sums leave it") {
  const auto text = [](std::int64_t terms) {
    return summed(fmt::format("1x{}", terms), fmt::format("1x{}", terms), terms,
                  "linear(%q, %wr, %b)", "%b: tensor<1xf32> = constant() [10]");
  };
  // 10 is code 100,000: three more products of 255 and 127.
  CHECK(is_on_codes(text(66307)));
  CHECK_FALSE(is_on_codes(text(66310)));
}

TEST_CASE("weights of ranks that no product has are no reason to read beyond them") {
  for (const std::string_view product : {"gemm(%q, %wr)", "linear(%q, %wr)", "conv(%q, %wr)",
                                         "conv_transpose(%q, %wr)", "addmm(%q, %q, %wr)"}) {
    CAPTURE(product);
    const Graph model = test::value_of(parse_graph(summed("1x8", "8", 8, product)));
    CHECK(quantize_simulated(model).has_value());
  }
}

TEST_CASE("a negative multiplier goes through a product, and not through a limit") {
  constexpr std::string_view text = R"(
graph {opset = 21}
%x: tensor<4x4xf32> = input()
%il: tensor<f32> = constant() [0]
%ih: tensor<f32> = constant() [2.55]
%ol: tensor<f32> = constant() [1.55]
%oh: tensor<f32> = constant() [-1]
%q: tensor<4x4xf32> = fake_quantize(%x, %il, %ih, %ol, %oh) {levels = 256}
%wc: tensor<4x4x!quant.uniform<i8:f32, 0.01>> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]
%w: tensor<4x4xf32> = dequantize(%wc)
%m: tensor<4x4xf32> = matmul(%q, %w)
%r: tensor<4x4xf32> = onnx.Relu(%m)
output(%r)
)";
  const Graph model = parsed(text);
  const LowPrecision result = lowered(model);
  CHECK(kinds_of(result.graph) ==
        "quantize, storage_cast, storage_cast, matmul, dequantize, onnx.Relu");
  CHECK(
      reason(result, "r").ends_with("a scale is negative, which turns the order of codes around"));
  CHECK(test::distance(model, result.graph, -1, 3) < 1e-5);
}

TEST_CASE("a chain of 20,000 operations") {
  std::string text =
      "graph {opset = 21}\n%xc: tensor<4x!quant.uniform<u8:f32, 0.1>> = input()\n"
      "%v0: tensor<4xf32> = dequantize(%xc)\n";
  const int count = test::shortened(20'000);
  for (int i = 0; i < count; ++i) {
    text +=
        "%v" + std::to_string(i + 1) + ": tensor<4xf32> = onnx.Relu(%v" + std::to_string(i) + ")\n";
  }
  text += "output(%v" + std::to_string(count) + ")\n";
  const LowPrecision result = lowered(text);
  CHECK(type_of(result.graph, "v7") == "tensor<4x!quant.uniform<u8:f32, 0.1>>");
}

TEST_CASE("a constant beside a channel that is next to nothing is held as finely as float32 does") {
  // The second channel has a step of 1e-16; 0.7 of it would take 53 bits.
  const LowPrecision result = lowered(R"(
graph {opset = 21}
%xc: tensor<1x1x2x2x!quant.uniform<u8:f32, 0.01>> = input()
%x: tensor<1x1x2x2xf32> = dequantize(%xc)
%wc: tensor<2x1x1x1x!quant.uniform<i8:f32:0, {0.01, 1e-14}>> = constant() [3, 5]
%w: tensor<2x1x1x1xf32> = dequantize(%wc)
%c: tensor<1x2x2x2xf32> = conv(%x, %w)
%b: tensor<1x2x1x1xf32> = constant() [0.5, 0.7]
%y: tensor<1x2x2x2xf32> = add(%c, %b)
output(%y)
)");
  CHECK(kinds_of(result.graph) == "conv, add, dequantize");
  const auto scales =
      read_scales(result.graph.type(result.graph.find_value("y_quantized")).uniform()->scales);
  REQUIRE(scales.has_value());
  CHECK((*scales)[0] < 0.01F * 0.01F);
  CHECK((*scales)[1] == doctest::Approx(0.7 / 0x1p24));
}

TEST_CASE("a quantize that nobody reads goes with what it read") {
  const Graph graph = parsed(R"(
graph {opset = 21}
%x: tensor<3x3x2x2xf32> = input()
%l: tensor<f32> = constant() [-1]
%h: tensor<f32> = constant() [13.875]
%zero: tensor<f32> = constant() [0]
%f: tensor<3x3x2x2xf32> = fake_quantize(%x, %l, %h, %zero, %h) {levels = 256}
%unread: tensor<3x3x2x2x!quant.uniform<i8:f32, 1.0>> = quantize(%f)
%g: tensor<3x3x2x2xf32> = onnx.Gelu(%f)
%w: tensor<2x2xf32> = constant() [-0.5, 7.875, 2.25, -3.875]
%y: tensor<3x3x2x2xf32> = matmul(%g, %w)
output(%y)
)");
  for (const KernelsTarget target : low_precision_targets) {
    const LowPrecision result = lowered(graph, {.target = target, .repair = true});
    CHECK(result.graph.find_value("unread").is_absent());
  }
}
