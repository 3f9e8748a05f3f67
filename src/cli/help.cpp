#include "cli/help.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace quadrant::cli {
namespace {

constexpr std::size_t left_column = 26;
constexpr std::size_t line_width = 80;

// `text` in lines that start at `indent`; the first is there already.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > indent && column + 1 + word.size() > line_width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

HelpFormatter::HelpFormatter() { this->column_width(left_column); }

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string line = "  " + make_option_name(option, is_positional);
  if (!is_positional) line += make_option_opts(option);
  if (line.size() + 2 > left_column) {
    line += '\n';
    line.append(left_column, ' ');
  } else {
    line.append(left_column - line.size(), ' ');
  }
  return line + wrapped(make_option_desc(option), left_column) + '\n';
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_type_name().empty() ? "" : " " + option->get_type_name();
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (!option->get_default_str().empty()) {
    text += fmt::format(" (default: {})", option->get_default_str());
  }
  if (option->get_required()) text += " (required)";
  return text;
}

}  // namespace quadrant::cli
