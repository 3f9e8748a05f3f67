// Runs models by itself, one node after the other: the runtime that is always there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quadrant/runtime/kernel.hpp"
#include "quadrant/runtime/runtime.hpp"

namespace quadrant::inline v0 {

/// A reference interpreter: readable before it is fast, and fast enough to calibrate with.
///
/// It computes what ONNX's operators of the model's opset mean, in the types that the model has,
/// and the quantized types and casts of ir/ops.hpp: a value of quantized type is a tensor of its
/// codes. Shapes are those of the tensors it is given, so a model runs with every batch size that
/// its own constants allow. float16 and bfloat16 are computed in float32 and rounded after each
/// operation.
///
/// What depends on constants alone is computed when a model is loaded. A tensor lives until its
/// last reader has run. What is computed takes at most `memory` bytes at a time: a run together
/// with what was computed at loading, each run for itself, inputs and the contents of constants not
/// counted. A node that would take more is refused (`impossible`) before it does: a model of a few
/// bytes may ask for any number of elements.
class Interpreter final : public Runtime {
 public:
  static constexpr std::uint64_t default_memory = std::uint64_t{4} << 30U;

  Interpreter() = default;
  /// With kernels of your own, for operations that the interpreter does not know; for one that it
  /// does, yours is taken.
  explicit Interpreter(std::vector<KernelEntry> kernels, std::uint64_t memory = default_memory)
      : kernels_(std::move(kernels)), memory_(memory) {}

  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& graph, std::span<const Value> watched) const override;

  /// The operations that it knows, sorted by kind.
  [[nodiscard]] static std::span<const KernelEntry> kernels() noexcept;

 private:
  std::vector<KernelEntry> kernels_;
  std::uint64_t memory_ = default_memory;
};

}  // namespace quadrant::inline v0
