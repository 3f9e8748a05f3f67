#include "report/explanation_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "report/html_text.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t items_shown = 12;

std::string names_html(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names.first(std::min(names.size(), items_shown))) {
    fmt::format_to(std::back_inserter(text), "{}<code>{}</code>", text.empty() ? "" : ", ",
                   html_name(name));
  }
  if (names.size() > items_shown) {
    fmt::format_to(std::back_inserter(text), " and {} more", names.size() - items_shown);
  }
  return text;
}

// A list under a heading, of the first `items`; `print` makes one of them HTML.
template <class Item, class Print>
void add_list(std::string& text, std::string_view heading, const std::vector<Item>& items,
              const Print& print) {
  if (items.empty()) return;
  fmt::format_to(std::back_inserter(text), "<h4>{}</h4><ul>", heading);
  for (const Item& item : std::span(items).first(std::min(items.size(), items_shown))) {
    fmt::format_to(std::back_inserter(text), "<li>{}</li>", print(item));
  }
  if (items.size() > items_shown) {
    fmt::format_to(std::back_inserter(text), "<li>and {} more</li>", items.size() - items_shown);
  }
  text += "</ul>";
}

}  // namespace

std::string explanation_html(const Explanation& explanation, std::string_view unit) {
  const auto amount = [unit](Gain gain) {
    if (gain == Gain{}) return std::string();
    return fmt::format(", gain <b>{}</b> {}", grouped(gain.amount()), html_text(unit));
  };
  std::string text =
      fmt::format(R"(<p class="reason">{}</p>)", html_text(explanation.reason, 2000));
  add_list(text, "Asked for", explanation.requests, [&](const ExplainedRequest& request) {
    return fmt::format("<code>{}</code> by {}{}{}{}", html_text(request.constraint),
                       names_html(request.from), amount(request.gain),
                       request.selected ? " <em>selected</em>" : "",
                       request.accepted ? "" : ", refused: " + html_text(request.refusal));
  });
  add_list(text, "Wants of its operands", explanation.benefits,
           [&](const ExplainedBenefit& benefit) {
             return fmt::format("operand {} <code>{}</code> as <code>{}</code>: {}", benefit.index,
                                html_name(benefit.operand), html_text(benefit.constraint),
                                benefit.realized ? "yes" + amount(benefit.gain)
                                                 : "no, " + html_text(benefit.why_not, 2000));
           });
  add_list(text, "Other forms it is read in", explanation.conversions,
           [&](const ExplainedConversion& conversion) {
             return fmt::format(
                 "<code>{}</code>, made of <code>{}</code>, by {}{}", html_text(conversion.to),
                 html_text(conversion.from),
                 conversion.readers.empty() ? "other conversions" : names_html(conversion.readers),
                 amount(conversion.gain));
           });
  if (!explanation.blockers.empty()) {
    fmt::format_to(std::back_inserter(text), "<p>In the way: {}</p>",
                   names_html(explanation.blockers));
  }
  return text;
}

}  // namespace quadrant::inline v0
