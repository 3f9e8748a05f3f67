#include "report/html_page.hpp"

#include <fmt/format.h>

#include <iterator>

#include "quadrant/version.hpp"
#include "report/html_text.hpp"
#include "report/page_assets.hpp"

namespace quadrant::inline v0 {

std::string html_page(std::string_view title, std::string_view intro,
                      std::span<const HtmlSection> sections) {
  const PageAsset style = page_style();
  const PageAsset script = page_script();
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; )"
      "style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n"
      "<script>{}</script>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n",
      style.hash, script.hash, html_text(title), style.text, script.text, html_name(title));
  page += intro;
  page += "\n</header>\n";
  if (sections.size() > 1) {
    page += R"(<nav aria-label="Sections">)";
    for (const HtmlSection& section : sections) {
      fmt::format_to(std::back_inserter(page), R"(<a href="#{}">{}</a>)", section.id,
                     section.title);
    }
    page += "</nav>\n";
  }
  page += "<main>\n";
  for (const HtmlSection& section : sections) {
    fmt::format_to(std::back_inserter(page),
                   "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1} "
                   "<small>{2}</small></h2>\n",
                   section.id, section.title, html_text(section.note));
    page += section.content;
    page += "\n</section>\n";
  }
  page +=
      "</main>\n<footer>Made by quadrant " QUADRANT_VERSION_STRING "</footer>\n</body>\n</html>\n";
  return page;
}

}  // namespace quadrant::inline v0
