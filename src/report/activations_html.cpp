#include "report/activations_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "report/html_text.hpp"
#include "report/sqnr_cell.hpp"
#include "report/value_histogram_svg.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::string_view none = R"(<td class="number none" data-sort="-1">&ndash;</td>)";

// Sorts by its width.
std::string range_cell(const std::optional<RealInterval>& range) {
  if (!range) return std::string(none);
  return fmt::format(R"(<td class="number" data-sort="{:.9g}">{:.4g} to {:.4g}</td>)",
                     range->high - range->low, range->low, range->high);
}

std::string share_cell(const std::optional<ReportedActivation::Shares>& shares,
                       double ReportedActivation::Shares::* share) {
  if (!shares) return std::string(none);
  return fmt::format(R"(<td class="number" data-sort="{:.9g}">{:.3g}</td>)", *shares.*share,
                     100 * *shares.*share);
}

std::string picture_of(const ReportedActivation& activation) {
  if (!activation.histogram || !activation.coded) {
    return R"(<p class="note">Without samples, or where codes have several ranges, there is )"
           "no histogram.</p>";
  }
  return fmt::format(
      R"(<figure>{}<figcaption><span class="key before"></span> float, upwards <span class="key )"
      R"(after"></span> what the codes stand for, downwards; each as high as its fullest bin; )"
      R"(<span class="key beyond"></span> outside of what codes hold</figcaption></figure>)",
      draw_histogram(*activation.histogram, activation.coded->range));
}

std::string facts_of(const ReportedActivation& activation) {
  std::string text = fmt::format(R"(<p><span class="form">{}</span>)", html_text(activation.codes));
  if (activation.coded) {
    fmt::format_to(std::back_inserter(text), " in steps of {:.6g}, zero point {}",
                   activation.coded->step, activation.coded->zero_point);
  }
  text += "</p>";
  if (activation.seen) {
    fmt::format_to(std::back_inserter(text), "<p>{} {} seen{}.</p>", grouped(activation.count),
                   plural(activation.count, "value"),
                   activation.non_finite == 0
                       ? ""
                       : fmt::format(", {} not finite", grouped(activation.non_finite)));
  }
  return text;
}

struct ActivationColumns {
  bool has_errors = false;

  [[nodiscard]] int count() const { return has_errors ? 10 : 8; }
};

std::string activation_html(const ReportedActivation& activation, std::size_t index,
                            const ActivationColumns& columns) {
  using Shares = ReportedActivation::Shares;
  std::string text = fmt::format(
      R"(<tbody class="activation"><tr><th scope="row"><button type="button" class="fold" )"
      R"(aria-expanded="true" aria-controls="a{}">{}</button></th><td>{}</td>)",
      index, html_name(activation.name), html_name(activation.maker, 200));
  text += range_cell(activation.seen);
  text += range_cell(activation.coded ? std::optional(activation.coded->range) : std::nullopt);
  for (double Shares::* const share : {&Shares::clipped, &Shares::at_low, &Shares::at_high}) {
    text += share_cell(activation.shares, share);
  }
  text += sqnr_cell(activation.sqnr_db);
  if (columns.has_errors) {
    text += sqnr_cell(activation.sqnr_db_before) + sqnr_cell(activation.sqnr_db_behind);
  }
  fmt::format_to(std::back_inserter(text),
                 R"(</tr><tr class="detail" id="a{}"><td colspan="{}"><div class="pair">{})"
                 "<div>{}</div></div></td></tr></tbody>\n",
                 index, columns.count(), picture_of(activation), facts_of(activation));
  return text;
}

// What the figures mean.
std::string intro_html(const ActivationReport& report, const ActivationColumns& columns) {
  std::string text = R"(<p class="note">)";
  const bool has_seen = std::ranges::any_of(report.activations,
                                            [](const auto& each) { return each.seen.has_value(); });
  if (!has_seen) text += "No ranges were observed: those of codes are all that is known. ";
  if (has_seen && report.samples != 0) {
    fmt::format_to(std::back_inserter(text), "On {}, in float. ",
                   counted(report.samples, "sample"));
  }
  text +=
      "Clipped: further outside of what codes hold than half a step. Low and high end: with the "
      "lowest or the highest code. SQNR: of these codes alone, on exact values";
  if (columns.has_errors) {
    text +=
        "; in and out: with all errors of the model, of the worst value that the operation "
        "reads and of its own";
  } else {
    text += "; what errors come together to, <code>quadrant compare --report</code> says";
  }
  return text + ".</p>\n";
}

}  // namespace

HtmlSection activations_section(const ActivationReport& report) {
  const ActivationColumns columns{std::ranges::any_of(report.activations, [](const auto& each) {
    return each.sqnr_db_before || each.sqnr_db_behind;
  })};
  std::string text = intro_html(report, columns);
  text += R"(<p class="filter"><label>Filter <input type="search" data-filter="activations-table" )"
          "placeholder=\"name, operation\"></label> <output></output></p>\n"
          "<div class=\"scroll\"><table class=\"sortable\" id=\"activations-table\">\n<thead><tr>"
          R"(<th scope="col">activation</th><th scope="col">made by</th>)"
          R"(<th scope="col" class="number">seen</th>)"
          R"(<th scope="col" class="number">codes hold</th>)"
          R"(<th scope="col" class="number">clipped, %</th>)"
          R"(<th scope="col" class="number">low end, %</th>)"
          R"(<th scope="col" class="number">high end, %</th>)"
          R"(<th scope="col" class="number" aria-sort="ascending">SQNR, dB</th>)";
  if (columns.has_errors) {
    text += R"(<th scope="col" class="number">in, dB</th><th scope="col" class="number">out, dB)"
            "</th>";
  }
  text += "</tr></thead>\n";
  for (std::size_t i = 0; i < report.activations.size(); ++i) {
    text += activation_html(report.activations[i], i, columns);
  }
  text += "</table></div>\n";
  if (report.left_out != 0) {
    fmt::format_to(std::back_inserter(text), R"(<p class="note">Left out: {} of higher SQNR.</p>)",
                   counted(report.left_out, "activation"));
  }
  return {"activations", "Activations",
          counted(report.activations.size() + report.left_out, "activation"), std::move(text)};
}

}  // namespace quadrant::inline v0
