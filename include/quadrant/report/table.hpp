// Text in columns that line up.
//
//   Table table({{"weight"}, {"bytes", Table::Align::right}});
//   table.add({"dense.weight", "1.02 kB"});
//   table.print()  ->  "  weight          bytes\n  dense.weight  1.02 kB\n"
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrant::inline v0 {

class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;  ///< all empty: no line of titles
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// A row: at most one cell for each column, those that are missing stay empty. Cells are made
  /// `printable`.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool is_empty() const noexcept { return rows_.empty(); }

  /// The titles and the rows, each line after `indent` spaces and without spaces at its end.
  [[nodiscard]] std::string print(std::size_t indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace quadrant::inline v0
