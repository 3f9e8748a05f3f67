// A small model in Kiln's IR: a convolution, then an encoder and a decoder that share one matrix.
#pragma once

#include "ir.hpp"

namespace kiln {

/// Numbers in [-1, 1) that are the same on every machine.
inline std::vector<float> noise(std::size_t count, std::uint32_t seed) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    seed = seed * 1664525U + 1013904223U;
    number = static_cast<float>(seed >> 8U) / static_cast<float>(1U << 23U) - 1.0F;
  }
  return numbers;
}

/// Input: an image of 8 x 8 pixels, 3 channels.
inline void build_autoencoder(Function& f) {
  const auto alloc = [&](std::vector<std::int64_t> extents) {
    return f.append(OpCode::alloc, "buffer", {Scalar::f32, std::move(extents)});
  };
  Value* image = f.append(OpCode::input, "image", {Scalar::f32, {8, 8, 3}});
  Value* filter = f.append_weight("filter", {3, 3, 3, 12}, noise(324, 1));
  Value* shared = f.append_weight("shared", {12, 8}, noise(96, 2));
  Value* bias = f.append_weight("bias", {6, 6, 12}, noise(432, 3));

  Value* buffer = alloc({6, 6, 12});
  Value* features = f.append(OpCode::conv2d, "features", buffer->type, {image, filter, buffer});
  Value* active = f.append(OpCode::relu, "active", features->type, {features});

  buffer = alloc({8, 12});
  Value* turned = f.append(OpCode::transpose, "shared_turned", buffer->type, {shared, buffer});
  buffer = alloc({6, 6, 8});
  Value* code = f.append(OpCode::dense, "code", buffer->type, {active, turned, buffer});
  Value* decoded = f.append(OpCode::dense, "decoded", bias->type, {code, shared, bias});
  f.append(OpCode::output, "result", decoded->type, {decoded});
}

}  // namespace kiln
