// Random models of images: layers, some of which read what earlier ones read, and a head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "build.hpp"

namespace quadrant::test::random_models {

using List = std::vector<std::int64_t>;

inline Value add_conv(Model& model, Value x) {
  const std::int64_t inputs = model.shape(x)[1].value();
  const std::int64_t form = model.number(0, 3);  // depthwise, in groups, or plain
  std::int64_t groups = 1;
  if (form == 0) {
    groups = inputs;
  } else if (form == 1 && inputs % 2 == 0) {
    groups = 2;
  }
  const std::int64_t outputs = groups * model.number(1, groups > 2 ? 1 : 3);
  const std::int64_t kernel = model.coin() ? 3 : 1;
  std::vector<Value> operands{x, model.weight("w", {outputs, inputs / groups, kernel, kernel})};
  if (model.coin()) operands.push_back(model.weight("b", {outputs}));
  const std::int64_t stride =
      kernel == 3 && model.shape(x)[2].value() >= 4 ? model.number(1, 2) : 1;
  return model.add("conv", operands, "conv",
                   {{"group", groups},
                    {"strides", List(2, stride)},
                    {"pads", kernel == 3 ? List(4, 1) : List(4, 0)}});
}

inline Value add_clip(Model& model, Value x) {
  return model.add("onnx.Clip",
                   {x, model.constant("low", Shape::scalar(), {model.coin() ? 0.0F : -0.5F}),
                    model.constant("high", Shape::scalar(), {1})},
                   "clip");
}

inline Value add_pool(Model& model, Value x) {
  if (model.shape(x)[2].value() < 2) return x;
  return model.add(model.coin() ? "onnx.MaxPool" : "onnx.AveragePool", {x}, "pool",
                   {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}});
}

inline Value add_pad(Model& model, Value x) {
  return model.add("onnx.Pad", {x, model.integers({0, 0, 1, 0, 0, 0, 0, 1})}, "pad");
}

inline Value add_resize(Model& model, Value x) {
  if (model.shape(x)[2].value() > 6) return x;
  return model.add("onnx.Resize", {x, {}, model.constant("scales", {4}, {1, 1, 2, 2})}, "resize",
                   {{"mode", std::string(model.coin() ? "nearest" : "linear")}});
}

inline Value add_with_another(Model& model, Value x, const std::vector<Value>& earlier) {
  for (const Value other : earlier) {
    if (other != x && model.shape(other) == model.shape(x)) {
      return model.add(model.coin() ? "add" : "multiply", {x, other}, "sum");
    }
  }
  const Value channels = model.weight("channels", {1, model.shape(x)[1], 1, 1});
  return model.add(model.coin() ? "add" : "multiply", {x, channels}, "scaled");
}

inline Value add_layer(Model& model, Value x, const std::vector<Value>& earlier) {
  switch (model.number(0, 12)) {
    case 0:
      return add_pool(model, x);
    case 1:
      return add_pad(model, x);
    case 2:
      return add_resize(model, x);
    case 3:
    case 4:
      return add_with_another(model, x, earlier);
    case 5:
      return model.add("concat", {x, x}, "joined", {{"axis", std::int64_t{1}}});
    case 6:
      return model.add(model.coin() ? "onnx.Sigmoid" : "onnx.LeakyRelu", {x}, "curve");
    case 7:
      return model.add("onnx.Softmax", {x}, "softmax", {{"axis", std::int64_t{1}}});
    case 8:
      return add_clip(model, add_conv(model, x));
    case 9:
    case 10:
      return model.add("onnx.Relu", {add_conv(model, x)}, "relu");
    default:
      return add_conv(model, x);
  }
}

// The weight as it is, behind a transpose, or behind a reshape.
inline Value matrix(Model& model, std::int64_t rows, std::int64_t columns) {
  switch (model.number(0, 2)) {
    case 0:
      return model.weight("m", {rows, columns});
    case 1:
      return model.add("transpose", {model.weight("m", {columns, rows})}, "turned");
    default:
      return model.add("reshape",
                       {model.weight("m", {1, rows, columns}), model.integers({rows, columns})},
                       "formed");
  }
}

inline void add_head(Model& model, Value x) {
  const Value mean = model.add("onnx.GlobalAveragePool", {x}, "mean");
  const Value row = model.add("flatten", {mean}, "row");
  const std::int64_t channels = model.shape(row)[1].value();
  const Value hidden =
      model.coin()
          ? model.add("gemm", {row, matrix(model, channels, 4), model.weight("c", {4})}, "hidden")
          : model.add("matmul", {row, matrix(model, channels, 4)}, "hidden");
  const Value shifted = model.add("add", {hidden, model.weight("shift", {4})}, "shifted");
  model.output(model.add("onnx.Softmax", {shifted}, "probabilities"));
}

inline void make(Model& model) {
  const std::int64_t extent = model.number(3, 6);
  std::vector<Value> earlier{model.input("x", {model.number(1, 2), 4, extent, extent})};
  Value x = earlier.back();
  const std::int64_t layers = model.number(2, 6);
  for (std::int64_t i = 0; i < layers; ++i) {
    x = add_layer(model, x, earlier);
    earlier.push_back(x);
  }
  add_head(model, x);
}

}  // namespace quadrant::test::random_models
