#include "page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace quadrant::test {
namespace {

constexpr std::string_view opening = R"(# Operations, and who knows them

A row for each operation of the [table of operations](../src/ir/operations), a column for each part of the library that has to
know it. This page is generated, and a test holds it to be what the parts say: `build/release/bin/operations_page >
docs/operations.md` writes it.

)";

constexpr std::string_view legend = R"(
| cell | |
|---|---|
| yes | it does |
| other | the format holds it as other operations, which are what is read back |
| yes\*, other\* | but not in all its forms: what is refused is listed [below](#what-formats-refuse) |
| - a | it does not; [reason a](#reasons) says why |

Columns of files are tried, not claimed: the cases that the interpreter is tested with
([tests/runtime/ops](../tests/runtime/ops)) are written and read back. An operation that no row names is carried through ONNX files
as it came, stays float, and is refused, by name, by the other formats.
)";

std::string letter_of(std::size_t reason) {
  std::string letters(1, static_cast<char>('a' + reason % 26));
  if (reason >= 26) letters.insert(0, letter_of(reason / 26 - 1));
  return letters;
}

std::string text_of(const Row& row, Column column, const Explanation& explanation) {
  const Cell& cell = row[column];
  if (cell.state == State::empty) {
    const auto reason = explanation.reasons.find({row.operation, column});
    return reason == explanation.reasons.end() ? "-" : "- " + letter_of(reason->second);
  }
  return fmt::format("{}{}", cell.state == State::yes ? "yes" : "other",
                     cell.refused.empty() ? "" : "\\*");
}

constexpr std::array titles{"Borders",           "Moves",      "Element by element", "Products",
                            "Windows",           "Reductions", "Normalization",      "Recurrent",
                            "Places and shapes", "Codes",      "Simulation",         "Functions"};

std::string table_of(std::span<const Row> rows, const Explanation& explanation) {
  std::string text = "| operation |";
  std::string rule = "\n|---|";
  for (const ColumnText& column : columns) {
    text += fmt::format(" {} |", column.heading);
    rule += "---|";
  }
  text += rule + "\n";
  for (const Row& row : rows) {
    text += fmt::format("| `{}` |", row.operation->kind);
    for (const ColumnText& column : columns) {
      text += fmt::format(" {} |", text_of(row, column.column, explanation));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string page_of(const Status& status, const Explanation& explanation) {
  std::string text(opening);
  text += "| column | |\n|---|---|\n";
  for (const ColumnText& column : columns) {
    text += fmt::format("| {} | {} |\n", column.heading, column.meaning);
  }
  text += legend;
  const std::span<const Row> rows = status.rows;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const Family family = rows[begin].operation->family;
    while (end < rows.size() && rows[end].operation->family == family) ++end;
    text += fmt::format("\n## {}\n\n", titles[static_cast<std::size_t>(family)]);
    text += table_of(rows.subspan(begin, end - begin), explanation);
  }
  text += "\n## Reasons\n\n| | |\n|---|---|\n";
  for (std::size_t i = 0; i < reasons().size(); ++i) {
    text += fmt::format("| {} | {} |\n", letter_of(i), reasons()[i].text);
  }
  text +=
      "\n## What formats refuse\n\nOf operations that they hold, in the words of the writers.\n";
  for (const Column column : {Column::onnx, Column::tflite, Column::openvino, Column::mlir}) {
    std::string refusals;
    for (const Row& row : rows) {
      const auto& refused = row[column].refused;
      if (refused.empty()) continue;
      refusals += fmt::format("- `{}`: {}\n", row.operation->kind, fmt::join(refused, "; "));
    }
    if (refusals.empty()) continue;
    text +=
        fmt::format("\n### {}\n\n{}", columns[static_cast<std::size_t>(column)].heading, refusals);
  }
  return text;
}

}  // namespace quadrant::test
