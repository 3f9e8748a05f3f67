// A runtime that is a function of Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <string>

#include "quadrant/runtime/interpreter.hpp"
#include "session.hpp"

namespace quadrant::python {

/// `load(model, values)` gets a Model whose outputs are the values, and `(name, element)` of each;
/// it gives `run(arrays)`, of the model's inputs in order, which gives an array for each of the
/// values. Both are called from any thread, with the GIL; what they raise ends the session's call.
class CalledRuntime final : public Runtime {
 public:
  /// Refers to all three.
  CalledRuntime(Session& session, nb::handle load, const std::string& path)
      : session_(session), load_(load), path_(path) {}

  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& graph, std::span<const Value> watched) const override;
  [[nodiscard]] bool reaches_bodies() const override { return false; }

 private:
  Session& session_;
  nb::handle load_;
  const std::string& path_;
};

/// The interpreter, where `load` is None. Refers to all but the context.
[[nodiscard]] std::unique_ptr<Runtime> runtime_of(Session& session, nb::handle load,
                                                  const std::string& path,
                                                  const RunContext& context);

}  // namespace quadrant::python
