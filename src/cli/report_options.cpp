#include "cli/report_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace fs = std::filesystem;

void declare(CLI::App& command, ReportOptions& options) {
  add_value(command, "--report", options.report, "FILE",
            "Save a page about the decision and its reasons, for a browser");
  add_value(command, "--sensitivity", options.sensitivity, "FILE",
            "For --report: what 'quadrant sensitivity --cache' measured on this model");
  add_value(command, "--dot", options.dot, "FILE",
            "Save a picture of the decision, in Graphviz's language");
}

Expected<void> check(const ReportOptions& options) {
  if (!options.sensitivity.empty() && options.report.empty()) {
    return fail(ErrorCode::usage, "--sensitivity goes into the page of --report: name that, too");
  }
  return {};
}

Expected<std::optional<HtmlReport>> gather(const ReportOptions& options,
                                           const ReportSubject& subject) {
  if (options.report.empty()) return std::nullopt;
  std::vector<LayerSensitivity> study;
  if (!options.sensitivity.empty()) {
    QUADRANT_TRY(study, read_sensitivity(options.sensitivity, subject.graph));
  }
  QUADRANT_TRY(HtmlReport report, gather_report(subject));
  report.model = fs::path(report.model).filename().string();
  report.sensitivity = std::move(study);
  return report;
}

Expected<void> write(const ReportOptions& options, const ReportSubject& subject,
                     const std::optional<HtmlReport>& report, Console& console) {
  if (!options.dot.empty()) {
    QUADRANT_CHECK(console.write_text(options.dot, print_dot(subject.graph, subject.analysis)));
  }
  if (report) QUADRANT_CHECK(console.write_text(options.report, print_html(*report)));
  return {};
}

std::string print_files(const ReportOptions& options) {
  return file_line("  report in", options.report) + file_line("  picture in", options.dot);
}

void add_files(Json& document, const ReportOptions& options) {
  document["report"] = text_or_null(options.report);
  document["dot"] = text_or_null(options.dot);
}

}  // namespace quadrant::cli
