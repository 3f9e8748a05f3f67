// Runs models with OpenVINO (https://docs.openvino.ai), for those that are too large for the
// Interpreter. docs/interpreter.md says what is different.
#pragma once

#include <memory>
#include <span>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

/// OpenVINO on the processor, with float32 wherever the model has floats, so that its numbers can
/// be compared with another runtime's.
///
/// `quantize` is computed as it is defined, x / scale rounded half to even, and not as OpenVINO
/// understands QuantizeLinear: that adds the zero point before it rounds, and leaves out 16 bits.
/// Integers of 64 bits are computed in 32, float64 in float32, and 8-bit arithmetic saturates.
///
/// A model is handed over as a file in a folder of its own among the system's temporary ones
/// (`TMPDIR`), as large as the weights, which is gone when `load` returns. Runs of one executor
/// from several threads share the machine's cores and take turns.
class OpenVinoRuntime final : public Runtime {
 public:
  /// Loads OpenVINO's library, once for the process. `impossible`, saying how to get it, when this
  /// library was built without OpenVINO or it is not where it was.
  [[nodiscard]] static Expected<std::unique_ptr<OpenVinoRuntime>> make();

  /// OpenVINO compiles what `watched` needs; the rest of the graph may be anything. Its errors are
  /// `impossible` and its own words; `io` when the temporary file cannot be written.
  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& graph, std::span<const Value> watched) const override;
  [[nodiscard]] bool reaches_bodies() const override { return false; }

 private:
  struct Engine;
  explicit OpenVinoRuntime(std::shared_ptr<const Engine> engine) : engine_(std::move(engine)) {}

  std::shared_ptr<const Engine> engine_;
};

}  // namespace quadrant::inline v0
