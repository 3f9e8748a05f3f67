// The least error for each size of a model.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "quadrant/engine/budgets/budget.hpp"

namespace quadrant::python {

/// Points of the frontier, with the run that they are of.
class Frontier {
 public:
  /// Measures each weight in all its forms, at the outputs where there are samples. `measures_all`:
  /// each form by itself.
  [[nodiscard]] static std::unique_ptr<Frontier> make(std::shared_ptr<Session> session,
                                                      const Model& model, const Job& job,
                                                      const Samples& samples, bool measures_all);

  Frontier(std::shared_ptr<Session> session, PreparedRun prepared)
      : session_(std::move(session)), prepared_(std::move(prepared)) {}

  /// A dict each, the smallest first.
  [[nodiscard]] Dicts points() const;
  /// JSON, of one of them.
  [[nodiscard]] std::string plan(std::size_t point) const;
  [[nodiscard]] std::string recipe() const;
  [[nodiscard]] std::string svg() const;

 private:
  std::shared_ptr<Session> session_;  // which `prepared_` refers to
  PreparedRun prepared_;
  std::vector<BudgetItem> items_;
  std::vector<BudgetPoint> points_;
};

}  // namespace quadrant::python
