#include "report/sqnr_cell.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quadrant::inline v0 {

std::string sqnr_cell(const std::optional<double>& sqnr_db) {
  constexpr double above_all = 1e9;  // where exact ones sort
  if (!sqnr_db || std::isnan(*sqnr_db)) {
    return R"(<td class="number none" data-sort="-1e9">&ndash;</td>)";
  }
  if (std::isinf(*sqnr_db) && *sqnr_db > 0) {
    return fmt::format(R"(<td class="number" data-sort="{}">exact</td>)", above_all);
  }
  if (std::isinf(*sqnr_db)) return R"(<td class="number" data-sort="-1e8">&minus;&infin;</td>)";
  return fmt::format(R"(<td class="number" data-sort="{:.4f}">{:.1f}</td>)", *sqnr_db, *sqnr_db);
}

}  // namespace quadrant::inline v0
