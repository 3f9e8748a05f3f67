// MobileNetV2 with random weights: a model of the size that people calibrate, made here.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"

namespace benchmarks {

using quadrant::Constant;
using quadrant::ElementType;
using quadrant::Graph;
using quadrant::Shape;
using quadrant::Value;

inline std::vector<float> random_values(std::size_t count, float deviation) {
  static std::mt19937 random(1);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

inline Constant random_constant(const Shape& shape, float deviation) {
  return Constant::from_values<float>(
      ElementType::float32, shape,
      random_values(static_cast<std::size_t>(shape.element_count().value_or(0)), deviation));
}

// Sandler et al., arXiv 1801.04381, table 2: width 1.0, images of 224 x 224.
class MobileNetV2 {
 public:
  MobileNetV2() {
    Value x = graph.add_input("image", {ElementType::float32, Shape{1, 3, 224, 224}, nullptr});
    x = convolution(x, 32, {.taps = 3, .stride = 2});
    for (const Stage& stage : stages) {
      for (int i = 0; i < stage.repeats; ++i) {
        x = bottleneck(x, stage.expansion, stage.channels, i == 0 ? stage.stride : 1);
      }
    }
    x = convolution(x, 1280, {});
    x = node("onnx.GlobalAveragePool", {x});
    x = node(std::string(quadrant::ops::Flatten::kind), {x}, {{"axis", std::int64_t{1}}});
    graph.add_output("logits", product(x, 1000));
  }

  Graph graph;
  double multiply_adds = 0;

 private:
  struct Stage {
    std::int64_t expansion, channels;
    int repeats;
    std::int64_t stride;
  };
  static constexpr std::array stages{Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2},
                                     Stage{6, 64, 4, 2}, Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2},
                                     Stage{6, 320, 1, 1}};

  struct Window {
    std::int64_t taps = 1;
    std::int64_t stride = 1;
    bool depthwise = false;
    bool activated = true;
  };

  Value node(std::string kind, std::vector<Value> operands, quadrant::Attributes attributes = {}) {
    return {graph.add({.kind = std::move(kind),
                       .operands = std::move(operands),
                       .results = {{}},
                       .attributes = std::move(attributes)})};
  }

  Value constant(const Shape& shape, float deviation) {
    return graph.add_constant({}, random_constant(shape, deviation));
  }

  // With a bias, and clipped to [0, 6].
  Value convolution(Value x, std::int64_t channels, const Window& window) {
    const std::int64_t group = window.depthwise ? channels_ : 1;
    const std::int64_t summed = channels_ / group * window.taps * window.taps;
    const std::int64_t pad = window.taps / 2;
    const Value weight = constant({channels, channels_ / group, window.taps, window.taps},
                                  1.4F / std::sqrt(static_cast<float>(summed)));
    const Value y =
        node(std::string(quadrant::ops::Conv::kind), {x, weight, constant({channels}, 0.1F)},
             {{"group", group},
              {"strides", std::vector<std::int64_t>{window.stride, window.stride}},
              {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
    channels_ = channels;
    extent_ /= window.stride;
    multiply_adds += static_cast<double>(channels * summed * extent_ * extent_);
    return window.activated ? node("onnx.Clip", {y, zero_, six_}) : y;
  }

  Value bottleneck(Value x, std::int64_t expansion, std::int64_t channels, std::int64_t stride) {
    const std::int64_t before = channels_;
    Value y = expansion == 1 ? x : convolution(x, before * expansion, {});
    y = convolution(y, channels_, {.taps = 3, .stride = stride, .depthwise = true});
    y = convolution(y, channels, {.activated = false});
    const bool has_residual = stride == 1 && channels == before;
    return has_residual ? node(std::string(quadrant::ops::Add::kind), {x, y}) : y;
  }

  Value product(Value x, std::int64_t outputs) {
    multiply_adds += static_cast<double>(channels_ * outputs);
    return node(std::string(quadrant::ops::Gemm::kind),
                {x, constant({channels_, outputs}, 0.03F), constant({outputs}, 0.1F)});
  }

  Value number(float value) {
    const std::vector<float> values{value};
    return graph.add_constant(
        {}, Constant::from_values<float>(ElementType::float32, Shape::scalar(), values));
  }

  const Value zero_ = number(0);
  const Value six_ = number(6);
  std::int64_t channels_ = 3;
  std::int64_t extent_ = 224;
};

}  // namespace benchmarks
