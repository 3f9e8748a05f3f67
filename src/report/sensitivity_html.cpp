#include "report/sensitivity_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/agreement.hpp"
#include "report/html_text.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t layers_shown = 2000;

// How long the bar is: all of it at 0 dB and below, nothing from here on.
constexpr double quiet_db = 80;

std::string layer_html(const LayerSensitivity& layer, const ValueAgreement& worst) {
  const double sqnr = worst.agreement.sqnr_db();
  const double shown = std::isnan(sqnr) ? 0 : std::clamp(sqnr, 0.0, quiet_db);
  constexpr double most = 1e9;  // where those without noise sort
  const double sort = std::isnan(sqnr) ? -most : std::clamp(sqnr, -most, most);
  return fmt::format(
      R"(<tbody><tr><th scope="row">{}</th>)"
      R"(<td class="number" data-sort="{:.4f}">{}</td>)"
      R"(<td data-sort="{:.4f}"><svg class="loss" aria-hidden="true" viewBox="0 0 80 8" )"
      R"(preserveAspectRatio="none"><rect class="track" width="80" height="8"/>)"
      R"(<rect class="after" width="{:.2f}" height="8"/></svg></td>)"
      R"(<td class="number" data-sort="{:.9g}">{:.6f}</td>)"
      "<td class=\"number\" data-sort=\"{:.9g}\">{:.4g}</td><td>{}</td></tr></tbody>\n",
      html_name(layer.layer), sort, html_text(format_sqnr(worst.agreement)), sort, quiet_db - shown,
      worst.agreement.cosine(), worst.agreement.cosine(), worst.agreement.largest_error,
      worst.agreement.largest_error, html_name(worst.name));
}

}  // namespace

std::string sensitivity_html(std::span<const LayerSensitivity> layers) {
  std::string text =
      R"(<p class="note">Each quantized alone, the rest of the model in float: SQNR at the output )"
      "that suffers most. A bar is full at 0 dB and empty from 80 dB on.</p>\n"
      "<div class=\"scroll\"><table class=\"sortable\">\n<thead><tr>"
      R"(<th scope="col">quantized alone</th>)"
      R"(<th scope="col" class="number" aria-sort="ascending">SQNR</th>)"
      R"(<th scope="col">loss</th>)"
      R"(<th scope="col" class="number">cosine</th>)"
      R"(<th scope="col" class="number">largest error</th>)"
      "<th scope=\"col\">at output</th></tr></thead>\n";
  for (const LayerSensitivity& layer : layers.first(std::min(layers.size(), layers_shown))) {
    if (const ValueAgreement* worst = layer.worst()) text += layer_html(layer, *worst);
  }
  text += "</table></div>\n";
  if (layers.size() > layers_shown) {
    fmt::format_to(std::back_inserter(text), R"(<p class="note">Left out: {}.</p>)",
                   counted(layers.size() - layers_shown, "layer"));
  }
  return text;
}

}  // namespace quadrant::inline v0
