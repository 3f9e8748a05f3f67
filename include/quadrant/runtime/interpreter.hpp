// Runs models by itself, one node after the other: the runtime that is always there.
#pragma once

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
/// last reader has run.
class Interpreter final : public Runtime {
 public:
  Interpreter() = default;
  /// With kernels of your own, for operations that the interpreter does not know; for one that it
  /// does, yours is taken.
  explicit Interpreter(std::vector<KernelEntry> kernels) : kernels_(std::move(kernels)) {}

  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& graph, std::span<const Value> watched) const override;

  /// The operations that it knows, sorted by kind.
  [[nodiscard]] static std::span<const KernelEntry> kernels() noexcept;

 private:
  std::vector<KernelEntry> kernels_;
};

}  // namespace quadrant::inline v0
