#include "frontier.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/tables.hpp"
#include "report/form_counter.hpp"
#include "support/decibels.hpp"

namespace quadrant::python {

std::unique_ptr<Frontier> Frontier::make(std::shared_ptr<Session> session, const Model& model,
                                         const Job& job, const Samples& samples,
                                         bool measures_all) {
  const auto work = [&](const RunContext& context) -> Expected<std::unique_ptr<Frontier>> {
    QUADRANT_TRY(CheckedRun checked, check_run(job.request(model.path), context));
    QUADRANT_TRY(PreparedRun prepared, prepare(std::move(checked), *model.graph, context));
    auto made = std::make_unique<Frontier>(session, std::move(prepared));
    PreparedRun& run = made->prepared_;
    std::unique_ptr<DataSet> data;
    if (samples.inputs().has_samples()) {
      QUADRANT_TRY(data, open_samples(samples.inputs(), run.graph, context));
    }
    QUADRANT_TRY(const auto decided,
                 WeightBudget::make(run, {.data = data.get(), .measures_all = measures_all}));
    const BudgetStudy& study = decided->study();
    if (study.items().empty()) {
      return fail(ErrorCode::impossible,
                  "none of the schemes quantizes anything here: there is nothing to decide",
                  {.file = model.path});
    }
    made->items_.assign(study.items().begin(), study.items().end());
    made->points_ = study.frontier();
    return made;
  };
  std::unique_ptr<Frontier> made = session->run(work);
  made->prepared_.steps = {};  // which refer to samples
  return made;
}

Dicts Frontier::points() const {
  nb::list made;
  for (const BudgetPoint& point : points_) {
    nb::dict forms;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const BudgetItem& item = items_[i];
      for (const std::string& name : item.stored) {
        forms[name.c_str()] = item.options[point.options[i]].label;
      }
    }
    nb::dict row;
    row["bytes"] = point.file_bytes;
    row["bits"] = point.bits;
    row["error"] = point.error;
    row["sqnr_db"] = decibels_of(point.error);
    row["change"] = point.change;
    row["forms"] = forms;
    made.append(row);
  }
  return made;
}

std::string Frontier::plan(std::size_t point) const {
  return print_plan(plan_of(items_, points_.at(point).options, prepared_.registry));
}

std::string Frontier::recipe() const { return print_recipe(prepared_.recipe.recipe); }

std::string Frontier::svg() const {
  const FormCounter forms(items_);
  std::vector<FrontierPoint> shown;
  shown.reserve(points_.size());
  for (const BudgetPoint& point : points_) {
    shown.push_back({.bytes = point.file_bytes,
                     .bits_per_weight = point.bits,
                     .error_db = -decibels_of(point.error),
                     .label = fmt::format("point {}", shown.size() + 1),
                     .forms = forms(point.options),
                     .change = point.change});
  }
  return print_frontier_svg(shown);
}

}  // namespace quadrant::python
