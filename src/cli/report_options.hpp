// What plan and quantize write beside their result, for people: a page and a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/report/html_report.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

struct ReportOptions {
  std::string report;       ///< empty: no page
  std::string sensitivity;  ///< file that `sensitivity --cache` saved; empty: none
  std::string dot;          ///< empty: no picture
};

/// Adds --report, --sensitivity and --dot to a subcommand.
void declare(CLI::App& command, ReportOptions& options);

/// Mistakes that show before the long work.
[[nodiscard]] Expected<void> check(const ReportOptions& options);

/// Everything that goes into the page; nothing where none is wanted. Reads weights, so that what
/// fails does so before anything is written.
[[nodiscard]] Expected<std::optional<HtmlReport>> gather(const ReportOptions& options,
                                                         const ReportSubject& subject);

/// Adds what is wanted. `report` is what `gather` made.
[[nodiscard]] Expected<void> write(const ReportOptions& options, const ReportSubject& subject,
                                   const std::optional<HtmlReport>& report, Console& console);

/// `  report in FILE` for each file.
[[nodiscard]] std::string print_files(const ReportOptions& options);
/// The paths for --json, null where there is none.
void add_files(Json& document, const ReportOptions& options);

}  // namespace quadrant::cli
