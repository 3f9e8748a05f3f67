// quadrant pareto MODEL: how much error for how many bytes, at its best.
#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/budget.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/report_options.hpp"
#include "pipeline/budget_outcome.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

class Pareto final : public Command {
 public:
  explicit Pareto(const SchemeTable& schemes)
      : Command({.name = "pareto",
                 .about = "Show the least error for each size of the file",
                 .runs_models = true,
                 .shares_work = true}),
        options_(schemes) {}

  void declare(CLI::App& command) override {
    cli::declare(command, options_, json_);
    add_value(command, "--report", report_, "FILE",
              "Save a page with the picture and all points, for a browser");
    add_value(command, "--svg", svg_, "FILE", "Save the picture alone");
    declare_measuring(command, budget_);
    declare_non_finite(command, options_.non_finite);
    command.footer(
        "Each weight is stored in 8 bits, in 4 bits, or in floats. Errors are predicted: those at "
        "the\n"
        "outputs, with samples, or those of the weights.\n\n"
        "Example:\n"
        "  quadrant pareto model.onnx --scheme weight-only --data samples --report out.html");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(announce_frontier(options_));
    QUADRANT_TRY(PreparedRun subject, prepare(options_, console));
    QUADRANT_TRY(const BudgetMeasuring errors,
                 measuring(budget_, {}, options_.model, subject, console));
    QUADRANT_TRY(const auto decided, WeightBudget::make(subject, errors.options));
    if (decided->study().items().empty()) {
      return fail(ErrorCode::impossible,
                  "none of the schemes quantizes anything here: there is nothing to decide",
                  {.file = options_.model});
    }
    if (!is_first(console.context().ranks)) return {};
    const std::vector<BudgetPoint> points = decided->study().frontier();
    QUADRANT_CHECK(write_pictures(*decided, points, console));
    if (json_) {
      Json document{{"model", options_.model},
                    {"report", text_or_null(report_)},
                    {"svg", text_or_null(svg_)},
                    {"at_outputs", budget_.data.is_given()}};
      document.update(frontier_json(decided->study(), points));
      console.print_json(std::move(document));
    } else {
      console.print(print_frontier(decided->study(), points, decided->has_data()) +
                    file_line("\n  report in", report_) + file_line("\n  picture in", svg_));
    }
    return {};
  }

 private:
  [[nodiscard]] Expected<void> write_pictures(const WeightBudget& decided,
                                              std::span<const BudgetPoint> points,
                                              Console& console) const {
    const std::vector<FrontierPoint> shown =
        frontier_points(decided.study().items(), points, nullptr);
    if (!report_.empty()) {
      const std::string title = std::filesystem::path(options_.model).filename().string();
      QUADRANT_CHECK(console.write_text(
          report_, print_frontier_html(title, shown, frontier_note(decided.has_data()))));
    }
    if (!svg_.empty()) QUADRANT_CHECK(console.write_text(svg_, print_frontier_svg(shown)));
    return {};
  }

  DecisionOptions options_;
  BudgetOptions budget_;
  std::string report_;
  std::string svg_;
};

}  // namespace

std::unique_ptr<Command> make_pareto(const SchemeTable& schemes) {
  return std::make_unique<Pareto>(schemes);
}

}  // namespace quadrant::cli
