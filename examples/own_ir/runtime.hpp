// Kiln's interpreter as a runtime of the library's: for calibration, comparison and the like.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace kiln {

/// Runs all functions of a module, one for each input of its graph. Values are known by name.
class Runtime final : public quadrant::Runtime {
 public:
  /// From now on `graph`, that of the module's adaptor, and its copies are run so.
  /// Refers to the module.
  void add(quadrant::Graph& graph, const Module& module);

  [[nodiscard]] quadrant::Expected<std::unique_ptr<quadrant::ModelExecutor>> load(
      const quadrant::Graph& graph, std::span<const quadrant::Value> watched) const override;

 private:
  std::vector<const Module*> modules_;
};

}  // namespace kiln
