// A small model in Kiln's IR: an encoder and a decoder, two functions that share one matrix.
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

/// Two functions: an image of 8 x 8 pixels with 3 channels becomes a code, and the code an image,
/// once it has gone through a loop. Both read the weight `shared`; the loop reads one of the
/// module.
inline void build_autoencoder(Module& m) {
  const auto alloc = [&](std::vector<std::int64_t> extents) {
    return m.append(OpCode::alloc, "buffer", {Scalar::f32, std::move(extents)});
  };
  Value* filter = m.append_weight("filter", {3, 3, 3, 12}, noise(324, 1));
  Value* shared = m.append_weight("shared", {12, 8}, noise(96, 2));
  Value* step = m.append_weight("step", {8, 8}, noise(64, 5));
  Value* bias = m.append_weight("bias", {6, 6, 12}, noise(432, 3));

  Value* image = m.append(OpCode::input, "image", {Scalar::f32, {8, 8, 3}});
  Value* buffer = alloc({6, 6, 12});
  Value* features = m.append(OpCode::conv2d, "features", buffer->type, {image, filter, buffer});
  Value* active = m.append(OpCode::relu, "active", features->type, {features});
  buffer = alloc({8, 12});
  Value* turned = m.append(OpCode::transpose, "shared_turned", buffer->type, {shared, buffer});
  buffer = alloc({6, 6, 8});
  Value* encoded = m.append(OpCode::dense, "encoded", buffer->type, {active, turned, buffer});
  m.append(OpCode::output, "code", encoded->type, {encoded});

  Value* code = m.append(OpCode::input, "to_decode", encoded->type);
  Value* state = m.append(OpCode::state, "state", code->type, {code});
  buffer = alloc({6, 6, 8});
  Value* stepped = m.append(OpCode::dense, "stepped", buffer->type, {state, step, buffer});
  Value* next = m.append(OpCode::relu, "next", stepped->type, {stepped});
  Value* refined = m.append(OpCode::loop, "refined", next->type, {next});
  refined->def->times = 3;
  Value* decoded = m.append(OpCode::dense, "decoded", bias->type, {refined, shared, bias});
  m.append(OpCode::output, "result", decoded->type, {decoded});
}

}  // namespace kiln
