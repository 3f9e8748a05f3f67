// Products as kernels compute them that add two by two in 16 bits, against the same sums by
// coordinates.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/build.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"

using namespace quadrant;

namespace {

// Scales are powers of two: reals are exact, and so are float sums of these few products.
constexpr float data_scale = 0.5F;
constexpr float weight_scale = 0.25F;

using Bytes = std::vector<int>;

TensorType coded(ElementType storage, const Shape& shape, float scale, int zero) {
  auto type = std::make_shared<UniformType>();
  const IntegerRange range = integer_range(storage).value();
  type->storage = storage;
  type->storage_min = range.min;
  type->storage_max = range.max;
  type->scales = make_scales(ElementType::float32, Shape(std::vector<std::int64_t>{}), {scale});
  if (zero != 0) {
    const std::array<std::int64_t, 1> zeros{zero};
    type->zero_points = make_zero_points(storage, Shape(std::vector<std::int64_t>{}), zeros);
  }
  return {storage, shape, std::move(type)};
}

struct Subject {
  std::string kind;
  Attributes attributes;
  Shape data_shape;
  Shape weight_shape;
  bool is_signed = false;
  bool is_turned = false;  // the weight is stored the other way
};

class Product {
 public:
  explicit Product(Subject subject, unsigned seed)
      : subject_(std::move(subject)), zero_(subject_.is_signed ? -3 : 7) {
    std::mt19937 random(seed);
    const int least = subject_.is_signed ? -128 : 0;
    data_.resize(static_cast<std::size_t>(*subject_.data_shape.element_count()));
    for (int& code : data_) {
      code = random() % 2 == 0 ? least + 255 : least + static_cast<int>(random() % 256);
    }
    weight_.resize(static_cast<std::size_t>(*subject_.weight_shape.element_count()));
    for (int& code : weight_) {
      const int large = random() % 3 == 0 ? 60 : 127;
      code = static_cast<int>(random() % (2 * static_cast<unsigned>(large) + 1)) - large;
    }
  }

  [[nodiscard]] const Bytes& weight() const { return weight_; }
  /// Less the zero point, as in padding.
  [[nodiscard]] int byte(std::int64_t i) const {
    return data_[static_cast<std::size_t>(i)] + (subject_.is_signed ? 128 : 0);
  }
  [[nodiscard]] int zero() const { return zero_ + (subject_.is_signed ? 128 : 0); }

  // In units of the product of the scales.
  [[nodiscard]] std::vector<std::int64_t> run(const Interpreter& interpreter) const {
    Graph graph;
    const Value x = graph.add_input("x", build::f32(subject_.data_shape));
    const ElementType storage = subject_.is_signed ? ElementType::int8 : ElementType::uint8;
    const Value codes =
        build::add(graph, "quantize", {x}, coded(storage, subject_.data_shape, data_scale, zero_));
    const Value real = build::add(graph, "dequantize", {codes}, build::f32(subject_.data_shape));
    Value w = weight_value(graph);
    if (subject_.is_turned) {
      w = build::add(graph, "transpose", {w}, build::f32(subject_.weight_shape),
                     {{"perm", std::vector<std::int64_t>{1, 0}}});
    }
    const Value y =
        build::add(graph, subject_.kind, {real, w}, build::f32(Shape()), subject_.attributes, "y");
    // Only then do ONNX Runtime's convolutions compute on codes.
    graph.add_output("codes", build::add(graph, "quantize", {y}, coded(storage, Shape(), 1, 0)));
    std::vector<float> reals;
    for (const int code : data_) reals.push_back(data_scale * static_cast<float>(code - zero_));
    const std::array watched{graph.find_value("y")};
    const auto model = interpreter.load(graph, watched).value();
    const Tensor input =
        Tensor::from_values<float>(ElementType::float32, subject_.data_shape, reals);
    std::vector<std::int64_t> sums;
    const auto keep = [&](std::size_t, const Tensor& tensor) -> Expected<void> {
      for (const float value : tensor.as<float>()) {
        sums.push_back(std::llround(value / (data_scale * weight_scale)));
      }
      return {};
    };
    const auto ran = model->run(std::span(&input, 1), keep);
    if (!ran) FAIL(to_string(ran.error()));
    return sums;
  }

 private:
  Value weight_value(Graph& graph) const {
    const Shape& shape = subject_.weight_shape;
    Shape stored = shape;
    std::vector<std::int8_t> codes(weight_.begin(), weight_.end());
    if (subject_.is_turned) {
      stored = {shape[1].value(), shape[0].value()};
      const auto rows = static_cast<std::size_t>(shape[0].value());
      const auto columns = static_cast<std::size_t>(shape[1].value());
      for (std::size_t i = 0; i < codes.size(); ++i) {
        codes[i % columns * rows + i / columns] = static_cast<std::int8_t>(weight_[i]);
      }
    }
    const Value constant =
        graph.add_constant("w", Constant::from_vector(ElementType::int8, stored, codes));
    graph.set_constant(constant.node, *graph.constant(constant.node),
                       coded(ElementType::int8, stored, weight_scale, 0).uniform());
    return build::add(graph, "dequantize", {constant}, build::f32(stored));
  }

  Subject subject_;
  int zero_ = 0;
  Bytes data_;
  Bytes weight_;
};

// Bytes and weights in the order of a kernel.
struct Terms {
  Bytes bytes;
  Bytes weights;

  void add(int byte, int weight) {
    bytes.push_back(byte);
    weights.push_back(weight);
  }
  // An odd number is made even by nothing.
  void finish() {
    if (bytes.size() % 2 != 0) add(0, 0);
  }
  [[nodiscard]] std::int64_t sum(int zero, bool ends_at_16_bits) const {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
      const std::int64_t pair =
          std::int64_t{bytes[i]} * weights[i] +
          (i + 1 < bytes.size() ? std::int64_t{bytes[i + 1]} * weights[i + 1] : 0);
      total += ends_at_16_bits ? std::clamp<std::int64_t>(pair, -32768, 32767) : pair;
    }
    for (const int weight : weights) total -= std::int64_t{zero} * weight;
    return total;
  }
};

void check(const std::vector<Terms>& terms, const Product& product, PairedSums whose) {
  const auto paired = product.run(Interpreter(paired_sum_kernels(whose)));
  const auto plain = product.run(Interpreter());
  REQUIRE(paired.size() == terms.size());
  std::size_t differing = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CHECK(plain[i] == terms[i].sum(product.zero(), false));
    CHECK(paired[i] == terms[i].sum(product.zero(), true));
    differing += plain[i] == paired[i] ? 0U : 1U;
  }
  CHECK(differing > 0);
}

}  // namespace

TEST_CASE("matrix products saturate along K") {
  constexpr std::int64_t rows = 5;
  constexpr std::int64_t sum = 15;
  constexpr std::int64_t outputs = 16;
  for (const bool is_signed : {false, true}) {
    for (const char* form : {"matmul", "turned", "linear", "transA", "transB"}) {
      CAPTURE(form);
      const std::string_view name = form;
      const bool takes_columns = name == "transA";
      const bool gives_rows = name == "linear" || name == "transB";
      std::string kind = takes_columns || name == "transB" ? "gemm" : "matmul";
      if (name == "linear") kind = form;
      Subject subject{.kind = std::move(kind),
                      .data_shape = takes_columns ? Shape{sum, rows} : Shape{rows, sum},
                      .weight_shape = gives_rows ? Shape{outputs, sum} : Shape{sum, outputs},
                      .is_signed = is_signed,
                      .is_turned = name == "turned"};
      if (takes_columns) subject.attributes.set("transA", std::int64_t{1});
      if (name == "transB") subject.attributes.set("transB", std::int64_t{1});
      const Product product(subject, 3);
      std::vector<Terms> terms;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t output = 0; output < outputs; ++output) {
          Terms& each = terms.emplace_back();
          for (std::int64_t k = 0; k < sum; ++k) {
            each.add(product.byte(takes_columns ? k * rows + row : row * sum + k),
                     product.weight()[static_cast<std::size_t>(gives_rows ? output * sum + k
                                                                          : k * outputs + output)]);
          }
          each.finish();
        }
      }
      check(terms, product, PairedSums::onnxruntime);
      check(terms, product, PairedSums::openvino);
    }
  }
}

TEST_CASE("convolutions saturate in the order of each runtime's kernel") {
  struct Case {
    std::int64_t group = 1;
    std::int64_t channels = 3;  // of a group
    std::int64_t outputs = 12;  // of a group
    std::int64_t dilation = 1;
    bool padded = false;
    PairedSums whose = PairedSums::onnxruntime;
    bool crosses_taps = true;  // else each tap is a sum of its own
  };
  for (const Case& each : {Case{}, Case{.channels = 4}, Case{.padded = true}, Case{.group = 2},
                           Case{.channels = 1, .outputs = 9}, Case{.dilation = 2, .padded = true},
                           Case{.whose = PairedSums::openvino, .crosses_taps = false},
                           Case{.channels = 4, .padded = true, .whose = PairedSums::openvino},
                           Case{.group = 2, .whose = PairedSums::openvino}}) {
    for (const bool is_signed : {false, true}) {
      constexpr std::int64_t height = 5;
      constexpr std::int64_t width = 4;
      constexpr std::int64_t taps = 2;  // along both axes
      const std::int64_t inputs = each.group * each.channels;
      Subject subject{.kind = "conv",
                      .data_shape = {2, inputs, height, width},
                      .weight_shape = {each.group * each.outputs, each.channels, taps, taps},
                      .is_signed = is_signed};
      const std::int64_t pad = each.padded ? 1 : 0;
      subject.attributes.set("group", each.group);
      subject.attributes.set("dilations", std::vector<std::int64_t>(2, each.dilation));
      subject.attributes.set("pads", std::vector<std::int64_t>(4, pad));
      CAPTURE(each.group);
      CAPTURE(each.channels);
      CAPTURE(each.padded);
      CAPTURE(each.crosses_taps);
      CAPTURE(each.dilation);
      const Product product(subject, 6);
      std::vector<Terms> terms;
      const std::int64_t reach = (taps - 1) * each.dilation;
      for (std::int64_t image = 0; image < 2; ++image) {
        for (std::int64_t output = 0; output < each.group * each.outputs; ++output) {
          for (std::int64_t y = -pad; y + reach < height + pad; ++y) {
            for (std::int64_t x = -pad; x + reach < width + pad; ++x) {
              Terms& sum = terms.emplace_back();
              for (std::int64_t tap = 0; tap < taps * taps; ++tap) {
                const std::int64_t row = y + tap / taps * each.dilation;
                const std::int64_t column = x + tap % taps * each.dilation;
                const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
                for (std::int64_t channel = 0; channel < each.channels; ++channel) {
                  const std::int64_t from =
                      image * inputs + output / each.outputs * each.channels + channel;
                  const std::int64_t weight =
                      (output * each.channels + channel) * taps * taps + tap;
                  sum.add(is_inside ? product.byte((from * height + row) * width + column)
                                    : product.zero(),
                          product.weight()[static_cast<std::size_t>(weight)]);
                }
                if (!each.crosses_taps) sum.finish();
              }
              sum.finish();
            }
          }
        }
      }
      check(terms, product, each.whose);
    }
  }
}

TEST_CASE("what sums in 32 bits is as it is meant") {
  // Of each channel alone.
  Subject depthwise{.kind = "conv",
                    .attributes = {{"group", std::int64_t{3}}},
                    .data_shape = {1, 3, 4, 4},
                    .weight_shape = {3, 1, 2, 2}};
  const Product product(depthwise, 1);
  for (const PairedSums whose : {PairedSums::onnxruntime, PairedSums::openvino}) {
    CHECK(product.run(Interpreter(paired_sum_kernels(whose))) == product.run(Interpreter()));
  }
}
