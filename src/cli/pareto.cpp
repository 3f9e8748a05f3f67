// quadrant pareto MODEL: how much error for how many bytes, at its best.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/budget.hpp"
#include "cli/budget_outcome.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/frontier_points.hpp"
#include "cli/report_options.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/form_counter.hpp"
#include "report/terminal_text.hpp"
#include "support/decibels.hpp"

namespace quadrant::cli {
namespace {

// Decibels over bytes, a star for each point.
std::string plot(const std::vector<BudgetPoint>& points) {
  constexpr std::size_t width = 64;
  constexpr std::size_t height = 16;
  std::vector<const BudgetPoint*> shown;  // floats alone have no error, so no decibels
  for (const BudgetPoint& point : points) {
    if (point.error > 0) shown.push_back(&point);
  }
  if (shown.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(
      shown, {}, [](const BudgetPoint* point) { return decibels_of(point->error); });
  const double low = decibels_of(least->error);
  const double range = std::max(1e-9, decibels_of(most->error) - low);
  const auto first = static_cast<double>(shown.front()->file_bytes);
  const double bytes = std::max(1.0, static_cast<double>(shown.back()->file_bytes) - first);
  std::vector<std::string> rows(height, std::string(width, ' '));
  for (const BudgetPoint* point : shown) {
    const double x = (static_cast<double>(point->file_bytes) - first) / bytes * (width - 1);
    const double y = (decibels_of(point->error) - low) / range * (height - 1);
    rows[height - 1 - static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = '*';
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    const double decibels = low + range * static_cast<double>(height - 1 - i) / (height - 1);
    const std::string label =
        i % 5 == 0 ? fmt::format("{:8.1f} dB", decibels) : std::string(11, ' ');
    const std::size_t end = rows[i].find_last_not_of(' ');
    text +=
        fmt::format("{} |{}\n", label, rows[i].substr(0, end == std::string::npos ? 0 : end + 1));
  }
  return text + fmt::format("{:11} +{}\n{:13}{} to {}\n", "", std::string(width, '-'), "",
                            format_bytes(shown.front()->file_bytes),
                            format_bytes(shown.back()->file_bytes));
}

class Pareto final : public Command {
 public:
  explicit Pareto(const SchemeTable& schemes) : options_(schemes) {}

  CLI::App* declare(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("pareto", "Show the least error for each size of the file");
    cli::declare(*command, options_);
    command
        ->add_option("--report", report_,
                     "Save a page with the picture and all points, for a browser")
        ->type_name("FILE");
    command->add_option("--svg", svg_, "Save the picture alone")->type_name("FILE");
    declare_measuring(*command, budget_);
    declare_non_finite(*command, options_.non_finite);
    command->footer(
        "Each weight is stored in 8 bits, in 4 bits, or in floats. Errors are predicted: those at "
        "the\n"
        "outputs, with samples; without, half those on assumed inputs, half those of the "
        "weights.\n\n"
        "Example:\n"
        "  quadrant pareto model.onnx --scheme weight-only --data samples --report out.html");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }
  [[nodiscard]] bool shares_work() const noexcept override { return true; }

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
    if (options_.json) {
      print_json(decided->study(), points, console);
    } else {
      console.print(print_text(*decided, points) + print_files());
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
          report_, print_frontier_html(title, shown, frontier_note(decided.errors()))));
    }
    if (!svg_.empty()) QUADRANT_CHECK(console.write_text(svg_, print_frontier_svg(shown)));
    return {};
  }

  [[nodiscard]] std::string print_files() const {
    std::string text;
    if (!report_.empty()) text += fmt::format("\n  report in {}\n", printable(report_));
    if (!svg_.empty()) text += fmt::format("\n  picture in {}\n", printable(svg_));
    return text;
  }

  [[nodiscard]] std::string print_text(const WeightBudget& decided,
                                       const std::vector<BudgetPoint>& points) const {
    using enum Table::Align;
    Table table({{"file", right}, {"bits", right}, {"error", right}, {"SQNR", right}, {"change"}});
    for (const BudgetPoint& point : points) {
      table.add({format_bytes(point.file_bytes), fmt::format("{:.3f}", point.bits),
                 fmt::format("{:.3g}", point.error), print_decibels(point.error), point.change});
    }
    const std::string first =
        points.empty() ? std::string()
                       : to_string(FormCounter(decided.study().items())(points.front().options));
    return fmt::format("{}\nThe smallest has {}.\n\n{}\n{}", frontier_note(decided.errors()),
                       printable(first), table.print(), plot(points));
  }

  void print_json(const BudgetStudy& study, const std::vector<BudgetPoint>& points,
                  Console& console) const {
    Json list = Json::array();
    for (const BudgetPoint& point : points) {
      Json forms = Json::array();
      for (std::size_t i = 0; i < point.options.size(); ++i) {
        forms.push_back(study.items()[i].options[point.options[i]].label);
      }
      list.push_back({{"file_bytes", point.file_bytes},
                      {"bits", point.bits},
                      {"error", point.error},
                      {"change", point.change},
                      {"forms", std::move(forms)}});
    }
    Json weights = Json::array();
    for (const BudgetItem& item : study.items()) {
      weights.push_back({{"values", item.stored}, {"elements", item.elements}});
    }
    console.print_json(Json{{"model", options_.model},
                            {"report", path_json(report_)},
                            {"svg", path_json(svg_)},
                            {"at_outputs", budget_.has_data()},
                            {"weights", std::move(weights)},
                            {"points", std::move(list)}});
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
