// Random graphs between two fake_quantizes and a real result: what is computed on codes is what is
// computed on real numbers, but for the grid of the sums.
#include <fmt/format.h>

#include "methods/fake_quantize/lower.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

class RandomModel {
 public:
  explicit RandomModel(unsigned seed) : random_(seed) {}

  std::string text() {
    text_ = "graph {opset = 21}\n";
    for (int i = 0; i < 2; ++i) {
      const std::string input = fmt::format("x{}", i);
      text_ += fmt::format("%{}: tensor<1x3x4x4xf32> = input()\n", input);
      values_.push_back(quantized(input));
    }
    const int count = 2 + pick(5);
    for (int i = 0; i < count; ++i) values_.push_back(operation());
    text_ += fmt::format("output(%{})\n", values_.back());
    return text_;
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  double number(double low, double high) { return low + (high - low) * pick(1000) / 1000.0; }
  std::string name() { return fmt::format("v{}", next_++); }
  // Most of what is computed is computed of the last value.
  const std::string& operand() {
    const auto count = static_cast<int>(values_.size());
    return values_[static_cast<std::size_t>(pick(3) > 0 ? count - 1 : pick(count))];
  }

  std::string numbers(int count, double low, double high) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += fmt::format("{}{}", i == 0 ? "" : ", ", number(low, high));
    }
    return list;
  }

  std::string constant(std::string_view shape, int count, double low, double high) {
    const std::string made = name();
    text_ += fmt::format("%{}: tensor<{}f32> = constant() [{}]\n", made,
                         shape.empty() ? std::string() : fmt::format("{}x", shape),
                         numbers(count, low, high));
    return made;
  }

  std::string node(std::string_view made_by) {
    const std::string made = name();
    text_ += fmt::format("%{}: tensor<1x3x4x4xf32> = {}\n", made, made_by);
    return made;
  }

  // Ranges with a zero: steps of 1/64 to 1/16, and a zero point.
  std::string quantized(std::string_view input) {
    const bool has_channels = pick(2) == 0;
    std::string low;
    std::string high;
    for (int i = 0; i < (has_channels ? 3 : 1); ++i) {
      const double step = 0.25 / (4 + pick(13));
      const int zero = pick(4) == 0 ? 128 : pick(256);
      low += fmt::format("{}{}", i == 0 ? "" : ", ", -zero * step);
      high += fmt::format("{}{}", i == 0 ? "" : ", ", (255 - zero) * step);
    }
    const std::string_view shape = has_channels ? "3x1x1" : "1";
    const std::string l = name();
    const std::string h = name();
    text_ += fmt::format("%{}: tensor<{}xf32> = constant() [{}]\n", l, shape, low);
    text_ += fmt::format("%{}: tensor<{}xf32> = constant() [{}]\n", h, shape, high);
    return node(
        fmt::format("fake_quantize(%{}, %{}, %{}, %{}, %{}) {{levels = 256}}", input, l, h, l, h));
  }

  std::string weight(std::string_view shape, int count) {
    const std::string real = constant(shape, count, -1, 1);
    const std::string low = name();
    const std::string high = name();
    std::string lows;
    std::string highs;
    for (int i = 0; i < 3; ++i) {
      const double end = number(0.25, 1);
      lows += fmt::format("{}{}", i == 0 ? "" : ", ", -end);
      highs += fmt::format("{}{}", i == 0 ? "" : ", ", end);
    }
    text_ += fmt::format("%{}: tensor<3x1x1x1xf32> = constant() [{}]\n", low, lows);
    text_ += fmt::format("%{}: tensor<3x1x1x1xf32> = constant() [{}]\n", high, highs);
    const std::string made = name();
    text_ += fmt::format(
        "%{}: tensor<{}xf32> = fake_quantize(%{}, %{}, %{}, %{}, %{}) {{levels = 255}}\n", made,
        shape, real, low, high, low, high);
    return made;
  }

  std::string operation() {
    const std::string x = operand();
    switch (pick(14)) {
      case 0:
        return node(fmt::format("conv(%{}, %{})", x, weight("3x3x1x1", 9)));
      case 1:
        return node(
            fmt::format("conv(%{}, %{}, %{}) {{group = 3, kernel_shape = [3, 3], pads = "
                        "[1, 1, 1, 1]}}",
                        x, weight("3x1x3x3", 27), constant("3", 3, -2, 2)));
      case 2:
        return node(fmt::format("add(%{}, %{})", x, constant("1x3x1x1", 3, -2, 2)));
      case 3:
        return node(fmt::format("add(%{}, %{})", x, operand()));
      case 4:
        return node(fmt::format("onnx.Sub(%{}, %{})", x, operand()));
      case 5:
        return node(fmt::format("multiply(%{}, %{})", x, operand()));
      case 6:
        return node(fmt::format("multiply(%{}, %{})", x, constant("3x1x1", 3, -1, 1.1)));
      case 7:
        return node(fmt::format("onnx.Relu(%{})", x));
      case 8:
        return node(fmt::format("onnx.PRelu(%{}, %{})", x, constant("3x1x1", 3, -0.5, 0.5)));
      case 9:
        return node(fmt::format("onnx.Clip(%{}, %{}, %{})", x, constant("", 1, -1, 0),
                                constant("", 1, 1, 6)));
      case 10:
        return node(
            fmt::format("onnx.MaxPool(%{}) {{kernel_shape = [3, 3], pads = [1, 1, 1, 1]}}", x));
      case 11:
        return node(
            fmt::format("onnx.AveragePool(%{}) {{kernel_shape = [3, 3], pads = [1, 1, 1, 1]}}", x));
      case 12:
        return node(fmt::format("transpose(%{}) {{perm = [0, 1, 3, 2]}}", x));
      default:
        return node(fmt::format("onnx.LeakyRelu(%{}) {{alpha = 0.1}}", x));
    }
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> values_;
  int next_ = 0;
};

}  // namespace

TEST_CASE("random graphs") {
  int on_codes = 0;
  for (unsigned seed = 0; seed < test::shortened(300U); ++seed) {
    const std::string text = RandomModel(seed).text();
    CAPTURE(text);
    const Graph model = test::parsed(text);
    const FakeQuantizeOptions options{.target = low_precision_targets[seed % 3]};
    const LowPrecision result = test::lowered(model, options);
    on_codes += result.fused_back == 0 ? 1 : 0;
    // Sums are off by 1/131072 of a step; what they are multiplied by, and float32, come on top.
    CHECK_MESSAGE(test::distance(model, result.graph, -5, 5) < 0.02, print_graph(result.graph));
  }
  CHECK(on_codes > test::shortened(100));
}
