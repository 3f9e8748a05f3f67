#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/recipe/encodings.hpp"

namespace quadrant {
namespace {

using Role = TensorEncoding::Role;

EncodingsFile encodings_in(const std::string& text) {
  const Expected<Graph> graph = parse_graph(text);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  Expected<EncodingsFile> file = encodings_of(*graph);
  REQUIRE_MESSAGE(file.has_value(), file.error().message);
  return *std::move(file);
}

std::vector<std::string> names(const EncodingsFile& file) {
  std::vector<std::string> found;
  for (const auto& [name, encoding] : file.tensors) found.push_back(name);
  return found;
}

TEST_CASE("values are called as their real values") {
  const EncodingsFile file = encodings_in(
      "%x: tensor<2x3xf32> = input()\n"
      "%x_1: tensor<2x3x!quant.uniform<u8:f32, 0.5:128>> = quantize(%x)\n"
      "%x_1_dequantized: tensor<2x3xf32> = dequantize(%x_1)\n"
      "%w_quantized: tensor<3x2x!quant.uniform<i8:f32:1, {0.25, 2}>> = constant() "
      "[1, 2, 3, 4, 5, -128]\n"
      "%w: tensor<3x2xf32> = dequantize(%w_quantized)\n"
      "%y_unquantized: tensor<2x2xf32> = matmul(%x_1_dequantized, %w)\n"
      "%y_quantized: tensor<2x2x!quant.uniform<i8:f32, 4:-8>> = quantize(%y_unquantized)\n"
      "%y: tensor<2x2xf32> = dequantize(%y_quantized)\n"
      "output(%y)\n");
  REQUIRE(names(file) == std::vector<std::string>{"w", "x", "y"});
  const TensorEncoding& x = file.tensors.at("x");
  CHECK(x.scales == std::vector{0.5});
  CHECK(x.zero_points == std::vector<std::int64_t>{128});
  CHECK(x.role == Role::activation);
  CHECK(file.tensors.at("y").zero_points == std::vector<std::int64_t>{120});
  const TensorEncoding& w = file.tensors.at("w");
  CHECK(w.scales == std::vector{0.25, 2.0});
  CHECK(w.axis == 1);
  CHECK(w.role == Role::parameter);
  CHECK(w.symmetry == EncodingSymmetry::symmetric);
}

// The weight `w`, and values of the model that have the names which its codes and results would
// get.
TEST_CASE("values are called as their real values where names were taken") {
  Expected<Graph> graph = parse_graph(
      "%x: tensor<2x3xf32> = input()\n"
      "%w: tensor<3x2x!quant.uniform<i8:f32, 0.25>> = constant() [1, 2, 3, 4, 5, -128]\n"
      "%w_quantized: tensor<2x3xf32> = onnx.Abs(%x)\n"
      "%y: tensor<2x2x!quant.uniform<i8:f32, 4>> = matmul(%w_quantized, %w)\n"
      "%y_unquantized: tensor<2x2xf32> = onnx.Neg(%y)\n"
      "%y_quantized: tensor<2x2x!quant.uniform<i8:f32, 2>> = onnx.Abs(%y_unquantized)\n"
      "%z: tensor<2x2xf32> = onnx.Neg(%y_quantized)\n"
      "output(%z)\n");
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  make_quantization_explicit(*graph);
  const Expected<EncodingsFile> file = encodings_of(*graph);
  REQUIRE(file.has_value());
  REQUIRE(names(*file) == std::vector<std::string>{"w", "y", "y_quantized"});
  CHECK(file->tensors.at("w").scales == std::vector{0.25});
  CHECK(file->tensors.at("y").scales == std::vector{4.0});
  CHECK(file->tensors.at("y_quantized").scales == std::vector{2.0});
}

TEST_CASE("the lowest code belongs to a symmetric weight if it occurs") {
  const EncodingsFile file = encodings_in(
      "%w: tensor<2x!quant.uniform<i8:f32, 0.25>> = constant() [-127, 127]\n"
      "%v: tensor<2x!quant.uniform<i8:f32, 0.25>> = constant() [-128, 127]\n"
      "output(%w)\n"
      "output(%v)\n");
  CHECK(file.tensors.at("w").symmetry == EncodingSymmetry::symmetric_strict);
  CHECK(file.tensors.at("w").zero_points == std::vector<std::int64_t>{127});
  CHECK(file.tensors.at("v").symmetry == EncodingSymmetry::symmetric);
  CHECK(file.tensors.at("v").zero_points == std::vector<std::int64_t>{128});
}

TEST_CASE("what is prescribed has the file's scales, but no floats and no blocks") {
  EncodingsFile file;
  TensorEncoding& w = file.tensors["w"];
  w.spread = TensorEncoding::Spread::channels;
  w.scales = {0.5, 2};
  w.zero_points = {128, 3};
  auto prescribed = prescribed_encodings(file);
  REQUIRE(prescribed.has_value());
  const PrescribedEncoding& made = prescribed->at("w");
  REQUIRE(made.encodings.size() == 2);
  CHECK_FALSE(made.axis.has_value());
  CHECK(made.encodings[1].scale == 2);
  CHECK(made.encodings[1].zero_point == 3);
  CHECK(made.encodings[1].min == -6);
  CHECK(made.encodings[1].max == 504);
  w.kind = TensorEncoding::Kind::floating;
  w.bits = 16;
  prescribed = prescribed_encodings(file);
  REQUIRE_FALSE(prescribed.has_value());
  CHECK(prescribed.error().place.tensor == "w");
  w = {};
  prescribed = prescribed_encodings(file);  // no scale
  REQUIRE_FALSE(prescribed.has_value());
  CHECK(prescribed.error().place.tensor == "w");
}

}  // namespace
}  // namespace quadrant
