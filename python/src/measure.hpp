// Calls that run models.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/numerics/statistics.hpp"

namespace quadrant::python {

using Arrays = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, Array>>;

/// What the values `wanted` are, `(name, array)` each; all outputs where none is named.
[[nodiscard]] Arrays run(Session& session, const Model& model,
                         const nb::typed<nb::list, Array>& inputs,
                         const std::vector<std::string>& wanted);

/// That what was gathered was so on the same model, as far as that is known.
[[nodiscard]] Expected<void> check_same_model(std::uint64_t hash, std::uint64_t other);

/// Says in a table what it was gathered on: the model's name, and a hash of its contents.
template <class Table>
[[nodiscard]] Expected<void> name_model(Table& table, const Model& model, Executor* executor) {
  table.model = std::filesystem::path(model.path).filename().string();
  QUADRANT_TRY(table.model_hash, model_hash(*model.graph, executor));
  return {};
}

struct Statistics {
  StatisticsTable table;

  [[nodiscard]] static Statistics parse(const std::string& text);
  [[nodiscard]] std::string print() const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// Throws a KeyError where there is none.
  [[nodiscard]] Dict of(const std::string& name) const;
};

/// `values` empty: all that are floats. `runtime`: see `runtime_of`.
[[nodiscard]] Statistics calibrate(Session& session, const Model& model, const Samples& samples,
                                   const std::vector<std::string>& values, nb::handle runtime);

[[nodiscard]] Dict compare(Session& session, const Model& first, const Model& second,
                           const Samples& samples, bool layers,
                           const std::optional<std::vector<std::int64_t>>& labels,
                           nb::handle runtime);

/// Why `second` is worse, the worst cause first. `calibration`: of remedies; empty: `samples`.
[[nodiscard]] Dict diagnose(Session& session, const Model& first, const Model& second,
                            const Samples& samples, const Samples& calibration, std::size_t most,
                            bool remedies);

/// The most sensitive first.
[[nodiscard]] Dicts sensitivity(Session& session, const Model& model, const Job& job,
                                const Samples& samples, const std::string& cache);

struct Attempt {
  std::string settings;
  std::vector<std::string> optimizations;
  std::vector<std::pair<std::string, std::string>> excluded;  ///< names, reasons
  double sqnr_db = 0;
  double fitted_sqnr_db = 0;
  std::optional<double> held_back_sqnr_db;
  std::optional<double> points_lost;
  std::uint64_t weights = 0;
  std::uint64_t quantized_weights = 0;
  double seconds = 0;
};
struct OptimizeOutcome {
  std::vector<Attempt> attempts;
  std::size_t best = 0;
  bool is_good_enough = false;
  Model model;
  std::string recipe;  ///< JSON
};
[[nodiscard]] OptimizeOutcome optimize(Session& session, const Model& model, const Job& job,
                                       const Samples& data,
                                       const std::optional<std::vector<std::int64_t>>& labels,
                                       double accept_points, double accept_sqnr_db,
                                       double most_float);

}  // namespace quadrant::python
