#include <algorithm>
#include <utility>

#include "quadrant/report/tables.hpp"
#include "quadrant/support/error.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::inline v0 {

void Table::add(std::vector<std::string> cells) {
  QUADRANT_ASSERT(cells.size() <= columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::print(std::size_t indent) const {
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(printable(column.title));
  const bool has_titles =
      std::ranges::any_of(titles, [](const std::string& title) { return !title.empty(); });

  std::vector<std::size_t> widths(columns_.size(), 0);
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(cells[i]));
    }
  };
  widen(titles);
  for (const auto& row : rows_) widen(row);

  std::string text;
  const auto print_row = [&](const std::vector<std::string>& cells) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - display_width(cells[i]), ' ');
      const bool right = columns_[i].align == Align::right;
      line += right ? padding + cells[i] : cells[i] + padding;
      if (i + 1 < cells.size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  if (has_titles) print_row(titles);
  for (const auto& row : rows_) print_row(row);
  return text;
}

}  // namespace quadrant::inline v0
