// What the handles of include/quadrant/quadrant.h are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "quadrant/adapters/tbb.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/quadrant.h"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/diagnostics.hpp"

struct quadrant_error {
  quadrant_code code = QUADRANT_DEFECT;
  std::string text{};
  quadrant::Error error{};
};

struct quadrant_schemes {
  quadrant::SchemeTable table;
};

struct quadrant_model {
  quadrant::Graph graph;
  std::string path;
};

namespace quadrant::inline v0 {

/// What `quadrant_options` become: refers to the caller's function, owns the rest. Is told things
/// in the thread that called.
class CallContext final : public Sink {
 public:
  explicit CallContext(const quadrant_options& options);
  void report(const Diagnostic& diagnostic) override;
  [[nodiscard]] const RunContext& context() const noexcept { return context_; }

 private:
  quadrant_options options_;
  SchemeTable schemes_;
  TbbExecutor executor_;
  RunContext context_;
};

}  // namespace quadrant::inline v0

struct quadrant_result {
  std::unique_ptr<quadrant::CallContext> call;  // which the run refers to
  quadrant::RunResult run;
  std::string model;  // its file
};
