// A message on its way to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/onnx/rope.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0::onnx {

/// 64 bits that tell contents apart (FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv).
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// Receives the bytes of a rope in order, a few megabytes at a time.
using ByteSink = FunctionRef<void(std::span<const std::byte>)>;

/// Streams `rope`: payloads are read, or computed, in pieces that `executor` runs side by side.
void stream(const Rope& rope, Executor& executor, ByteSink out);

}  // namespace quadrant::inline v0::onnx
