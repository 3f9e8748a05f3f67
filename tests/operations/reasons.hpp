// Why cells of docs/operations.md are empty.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "status.hpp"

namespace quadrant::test {

/// Cells that a reason is about.
struct Covered {
  std::vector<Column> columns;
  /// Words: kinds, with a `*` at the end those that begin so, `family:<name>`, all of which are
  /// empty.
  std::string_view kinds;
  /// Instead of kinds: those of which this holds, as far as they are empty and no other reason
  /// names them.
  bool (*rest)(const Row& row) = nullptr;
};

struct Reason {
  std::string_view text;
  std::vector<Covered> covered;
};

[[nodiscard]] std::span<const Reason> reasons();

struct Explanation {
  std::map<std::pair<const Operation*, Column>, std::size_t> reasons;  ///< of empty cells
  std::vector<std::string> problems;  ///< cells without a reason, reasons without a cell
};

[[nodiscard]] Explanation explain(std::span<const Row> rows, std::span<const Reason> reasons);

}  // namespace quadrant::test
