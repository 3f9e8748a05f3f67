#include "report/weights_html.hpp"

#include <fmt/format.h>

#include <iterator>

#include "report/explanation_html.hpp"
#include "report/html_text.hpp"
#include "report/sqnr_cell.hpp"
#include "report/terminal_text.hpp"
#include "report/value_histogram_svg.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr int column_count = 7;

std::string readers_of(const ReportedWeight& weight) {
  std::string text;
  for (const std::string& reader : weight.readers) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ", ",
                   html_name(reader, 120));
  }
  if (weight.reader_count > weight.readers.size()) {
    fmt::format_to(std::back_inserter(text), " and {} more",
                   weight.reader_count - weight.readers.size());
  }
  return text.empty() ? "no operation" : text;
}

std::string picture_of(const ReportedWeight& weight) {
  if (!weight.histogram) {
    return R"(<p class="note">A plan reads no weights: <code>quadrant quantize --dry-run )"
           "--report</code> does, and shows histograms and SQNR.</p>";
  }
  std::string text = "<figure>" + draw_histogram(*weight.histogram) + "<figcaption>";
  text += weight.histogram->after
              ? R"(<span class="key before"></span> float, upwards )"
                R"(<span class="key after"></span> what the codes stand for, downwards; each as )"
                "high as its fullest bin"
              : R"(<span class="key before"></span> float)";
  if (weight.histogram->non_finite != 0) {
    fmt::format_to(std::back_inserter(text), "; {} values are not finite",
                   grouped(weight.histogram->non_finite));
  }
  return text + "</figcaption></figure>";
}

std::string weight_html(const ReportedWeight& weight, std::size_t index, std::string_view unit) {
  const bool is_float = weight.form.empty();
  std::string text = fmt::format(
      R"(<tbody class="weight {}"><tr><th scope="row"><button type="button" class="fold" )"
      R"(aria-expanded="true" aria-controls="w{}">{}</button></th>)",
      is_float ? "is-float" : "is-codes", index, html_name(weight.name));
  fmt::format_to(std::back_inserter(text), R"(<td>{}</td><td class="shape">{} {}</td>)",
                 readers_of(weight), html_text(weight.shape.empty() ? "scalar" : weight.shape),
                 html_text(weight.element));
  fmt::format_to(
      std::back_inserter(text), R"(<td class="how">{}</td>)",
      is_float ? R"(<span class="form none">float:</span> )" + html_text(weight.why.reason, 2000)
               : R"(<span class="form">)" + html_text(weight.form) + "</span>");
  fmt::format_to(std::back_inserter(text),
                 R"(<td class="number" data-sort="{0}">{1}</td>)"
                 R"(<td class="number" data-sort="{2}">{3}</td>)",
                 weight.bytes_before, grouped(weight.bytes_before), weight.bytes_after,
                 grouped(weight.bytes_after));
  text += sqnr_cell(weight.sqnr_db);
  text += "</tr>";
  fmt::format_to(std::back_inserter(text),
                 R"(<tr class="detail" id="w{}"><td colspan="{}"><div class="pair">{})"
                 "<div>{}</div></div></td></tr></tbody>\n",
                 index, column_count, picture_of(weight), explanation_html(weight.why, unit));
  return text;
}

// Bytes in float and now, to scale.
std::string bar_html(const WeightReport& report) {
  if (report.before.bytes == 0) return "";
  const auto width = [&](std::uint64_t bytes) {
    return 1000 * static_cast<double>(bytes) / static_cast<double>(report.before.bytes);
  };
  const std::uint64_t after = report.after.bytes;
  const std::uint64_t kept = report.in_float.bytes;
  return fmt::format(
      R"(<svg class="bar" role="img" viewBox="0 0 1000 52" preserveAspectRatio="none" )"
      R"(aria-label="Bytes of all weights: {0} before, {1} after, {2} of these in float">)"
      R"(<rect class="before" width="1000" height="22"/>)"
      R"(<rect class="after" y="30" width="{3:.2f}" height="22"/>)"
      "<rect class=\"before\" y=\"30\" x=\"{3:.2f}\" width=\"{4:.2f}\" height=\"22\"/></svg>\n"
      R"(<p class="note">Above {0} in float; below {1} now, of which <span class="key )"
      R"(after"></span> {5} in codes, scales and zero points and <span class="key )"
      "before\"></span> {2} left in float.</p>\n",
      format_bytes(report.before.bytes), format_bytes(after), format_bytes(kept),
      width(after - kept), width(kept), format_bytes(after - kept));
}

}  // namespace

std::string weights_html(const WeightReport& report, std::string_view unit) {
  std::string text = bar_html(report);
  if (report.weights.empty()) return text + "<p>The model has no weights.</p>";
  text += R"(<p class="filter"><label>Filter <input type="search" data-filter="weights-table" )"
          "placeholder=\"name, operation, form, reason\"></label> <output></output></p>\n"
          "<div class=\"scroll\"><table class=\"sortable\" id=\"weights-table\">\n<thead><tr>"
          R"(<th scope="col">weight</th><th scope="col">read by</th><th scope="col">shape</th>)"
          R"(<th scope="col">form</th>)"
          R"(<th scope="col" class="number" aria-sort="descending">bytes</th>)"
          R"(<th scope="col" class="number">bytes now</th>)"
          "<th scope=\"col\" class=\"number\">SQNR, dB</th></tr></thead>\n";
  for (std::size_t i = 0; i < report.weights.size(); ++i) {
    text += weight_html(report.weights[i], i, unit);
  }
  text += "</table></div>\n";
  if (report.left_out.count != 0) {
    fmt::format_to(
        std::back_inserter(text),
        R"(<p class="note">Left out: the {} smallest weights, {} in all. <code>quadrant )"
        "explain --all --json</code> has the reasons of all.</p>",
        grouped(report.left_out.count), format_bytes(report.left_out.bytes));
  }
  return text;
}

}  // namespace quadrant::inline v0
