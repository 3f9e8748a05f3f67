// Quantizes statically, looks at the accuracy, and tries more only where it is of use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/agreement.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct OptimizeOptions {
  /// Samples to look at the accuracy on; without any, those of the request's inputs.
  RunInputs data{};
  std::optional<std::vector<std::int64_t>>
      labels{};                ///< which classes are right, a row of scores each
  std::string labels_name{};   ///< their file, for messages
  double accept_points = 0.5;  ///< of top-1 that may be lost, where there are labels
  double accept_sqnr_db = 30;  ///< of the worst output, where there are none
};

/// One way to quantize, and what came of it.
struct OptimizeAttempt {
  std::vector<std::string> optimizations;
  Graph graph;
  Agreement worst;              ///< of the output that agrees least
  std::optional<double> loss;   ///< percentage points of top-1 that are lost; empty: no labels
  std::uint64_t weights = 0;    ///< of real numbers that could be quantized
  std::uint64_t quantized = 0;  ///< of these
  bool is_float = false;        ///< no value is quantized, be it a weight or not
  std::uint64_t nan = 0;        ///< elements of outputs that are NaN in the float model
  double seconds = 0;

  /// `none`, or `cle,hba`.
  [[nodiscard]] std::string name() const;
};

struct Optimized {
  std::vector<OptimizeAttempt> attempts;  ///< in the order in which they were made; at least one
  std::size_t best = 0;                   ///< of them
  bool is_good_enough = false;            ///< the best is
  bool is_all = false;                    ///< nothing is left to try
};

/// Tries, until the accuracy is good enough: no optimization; cle and hba; and, where that came
/// within 2 points (6 dB), cle, hba and bc, from the float model again. `request` names
/// static_affine, and samples. Errors are those of `run`.
[[nodiscard]] Expected<Optimized> optimize(const RunRequest& request, const Graph& model,
                                           const OptimizeOptions& options = {},
                                           const RunContext& context = {});
/// Mistakes in that call that show without a model.
[[nodiscard]] Expected<void> check_optimize(const RunRequest& request,
                                            const RunContext& context = {});

}  // namespace quadrant::inline v0
