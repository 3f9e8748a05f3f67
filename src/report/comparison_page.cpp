#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "quadrant/report/html_report.hpp"
#include "report/activations_html.hpp"
#include "report/agreement.hpp"
#include "report/html_page.hpp"
#include "report/html_text.hpp"
#include "report/sqnr_cell.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

std::string outputs_html(const Comparison& comparison) {
  std::string text =
      R"(<div class="scroll"><table class="sortable" id="outputs-table"><thead><tr>)"
      R"(<th scope="col">output</th><th scope="col">from</th>)"
      R"(<th scope="col" class="number">SQNR, dB</th><th scope="col" class="number">cosine</th>)"
      R"(<th scope="col" class="number">largest error</th>)"
      "<th scope=\"col\" class=\"number\">not finite</th></tr></thead>\n";
  for (const ValueAgreement& output : comparison.outputs) {
    const Agreement& agreement = output.agreement;
    fmt::format_to(std::back_inserter(text), R"(<tbody><tr><th scope="row">{}</th><td>{}</td>{})",
                   html_name(output.name), html_text(output.kind), sqnr_cell(agreement.sqnr_db()));
    fmt::format_to(std::back_inserter(text),
                   R"(<td class="number" data-sort="{0:.9g}">{0:.6f}</td>)"
                   R"(<td class="number" data-sort="{1:.9g}">{1:.4g}</td>)"
                   "<td class=\"number\" data-sort=\"{2}\">{2}</td></tr></tbody>\n",
                   agreement.cosine(), agreement.largest_error, agreement.non_finite);
  }
  return text + "</table></div>\n";
}

std::string intro_html(const Comparison& comparison) {
  std::string text = fmt::format(R"(<p class="scheme">{})", counted(comparison.samples, "sample"));
  if (!comparison.label_output.empty()) {
    fmt::format_to(std::back_inserter(text), "; both have the same class on top in {}",
                   format_percent(comparison.same_class.top1_share()));
  }
  return text + "</p>";
}

}  // namespace

std::string print_comparison_html(std::string_view title, const Comparison& comparison,
                                  const ActivationReport& activations) {
  std::vector<HtmlSection> sections;
  sections.push_back({"outputs", "Outputs", counted(comparison.outputs.size(), "output"),
                      outputs_html(comparison)});
  if (!activations.activations.empty()) sections.push_back(activations_section(activations));
  return html_page(title, intro_html(comparison), sections);
}

}  // namespace quadrant::inline v0
