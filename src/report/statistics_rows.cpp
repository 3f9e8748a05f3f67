#include "report/statistics_rows.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::inline v0 {

Expected<std::vector<StatisticsRow>> statistics_rows(const Graph& graph,
                                                     const StatisticsTable& table) {
  QUADRANT_TRY(const std::vector<Value> values, real_values(graph));
  std::vector<StatisticsRow> rows;
  const auto add = [&](const std::string& name, const TensorStatistics& statistics) {
    rows.push_back({name, &statistics});
  };
  std::map<std::string_view, const TensorStatistics*> left;
  for (const auto& [name, statistics] : table.values) left.emplace(name, &statistics);
  for (const Value value : values) {
    const auto found = left.find(graph.value_name(value));
    if (found == left.end()) continue;
    add(std::string(found->first), *found->second);
    left.erase(found);
  }
  for (const auto& [name, statistics] : left) add(std::string(name), *statistics);
  return rows;
}

std::string to_string(std::span<const StatisticsRow> rows) {
  using enum Table::Align;
  Table table({{"value"},
               {"elements", right},
               {"min", right},
               {"max", right},
               {"mean", right},
               {"zeros", right},
               {"not finite", right}});
  for (const StatisticsRow& row : rows) {
    const Histogram& histogram = row.histogram();
    const bool has_range = histogram.finite_count() != 0;
    const auto real = [&](double value) {
      return has_range ? fmt::format("{:.4g}", value) : std::string("-");
    };
    table.add({row.name, fmt::to_string(row.elements()), real(static_cast<double>(histogram.min())),
               real(static_cast<double>(histogram.max())), real(row.statistics->mean()),
               format_share(histogram.zero_count(), row.elements()),
               fmt::to_string(histogram.non_finite_count())});
  }
  return table.print();
}

Json to_json(std::span<const StatisticsRow> rows) {
  Json values = Json::array();
  for (const StatisticsRow& row : rows) {
    const Histogram::Counts counts = row.histogram().counts();
    values.push_back({{"value", row.name},
                      {"samples", row.statistics->samples},
                      {"elements", row.elements()},
                      {"min", counts.min},
                      {"max", counts.max},
                      {"mean", row.statistics->mean()},
                      {"zeros", counts.zeros},
                      {"nan", counts.nan},
                      {"positive_infinity", counts.positive_infinity},
                      {"negative_infinity", counts.negative_infinity}});
  }
  return values;
}

}  // namespace quadrant::inline v0
