// A message on its way to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/onnx/rope.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0::onnx {

/// Receives the bytes of a rope in order, a few megabytes at a time.
using ByteSink = FunctionRef<void(std::span<const std::byte>)>;

/// Streams `rope`: payloads are read, or computed, in pieces that `executor` runs side by side.
void stream(const Rope& rope, Executor& executor, ByteSink out);

}  // namespace quadrant::inline v0::onnx
