// A Summary for people, and for programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/report/summary.hpp"
#include "quadrant/report/tables.hpp"
#include "report/json.hpp"
#include "report/objective.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t shown_weights = 10;

std::string bits(const WeightTotals& totals) {
  return totals.elements == 0 ? "-" : fmt::format("{:.2f}", totals.bits_per_element());
}

// By more than what files align.
bool is_other(std::uint64_t in_file, std::uint64_t in_graph) {
  constexpr std::uint64_t some = 50;
  return std::max(in_file, in_graph) - std::min(in_file, in_graph) > in_graph / some + some;
}

std::string print_sizes(const Summary& summary) {
  using enum Table::Align;
  Table table({{""}, {"before", right}, {"after", right}, {"", right}});
  if (summary.file_bytes_before) {
    const auto before = *summary.file_bytes_before;
    const auto after = summary.file_bytes_after;
    table.add({"file", format_bytes(before), after ? format_bytes(*after) : "not written",
               after ? format_share(*after, before) : ""});
  }
  const WeightTotals& before = summary.weights_before;
  const WeightTotals& after = summary.weights_after;
  table.add({"weights", format_bytes(before.bytes), format_bytes(after.bytes),
             format_share(after.bytes, before.bytes)});
  if (summary.tensor_bytes_after && is_other(*summary.tensor_bytes_after, after.bytes)) {
    table.add({"weights as the file has them", "", format_bytes(*summary.tensor_bytes_after),
               format_share(*summary.tensor_bytes_after, before.bytes)});
  }
  table.add({"bits per weight", bits(before), bits(after)});
  if (summary.quantized_after.count != 0) {
    table.add({"bits per quantized weight", "", bits(summary.quantized_after)});
  }
  return table.print();
}

// Of several schemes, those that quantize a weight; the others by name.
std::string print_schemes(const Summary& summary) {
  using enum Table::Align;
  if (summary.schemes.size() < 2) return {};
  Table table({{"scheme"}, {"weights", right}, {"options"}});
  std::vector<std::string_view> unused;
  for (const SchemeUse& use : summary.schemes) {
    if (use.weights == 0) {
      unused.push_back(use.name);
    } else {
      table.add({use.name, fmt::to_string(use.weights), use.options});
    }
  }
  std::string text = unused.size() == summary.schemes.size() ? std::string() : table.print();
  if (!unused.empty()) {
    text += fmt::format("  of no weight: {}\n", printable(fmt::to_string(fmt::join(unused, ", "))));
  }
  return text + '\n';
}

std::string print_facts(const Summary& summary) {
  Table table({{""}, {""}});
  if (summary.schemes.size() < 2) {
    table.add({"scheme", fmt::format("{} ({})", summary.scheme, summary.options)});
  }
  table.add({"quantized",
             fmt::format("{} of {} eligible weights, {} of their bytes",
                         summary.eligible_quantized.count, summary.eligible.count,
                         format_share(summary.eligible_quantized.bytes, summary.eligible.bytes))});
  if (summary.given.count != 0) {
    table.add({"quantized before",
               fmt::format("{}, which the model came with and keeps: to change that, quantize the "
                           "float model",
                           counted(summary.given.count, "weight"))});
  }
  table.add({"gain", describe_objective(summary.objective, summary.bound, summary.gain_unit)});
  if (summary.seconds) table.add({"time", fmt::format("{:.2f} s", *summary.seconds)});
  return table.print();
}

std::string print_operations(const Summary& summary) {
  using enum Table::Align;
  Table table({{"operation"}, {"before", right}, {"after", right}, {"", right}});
  for (const OperationCount& count : summary.operations) {
    const auto change =
        static_cast<std::int64_t>(count.after) - static_cast<std::int64_t>(count.before);
    table.add({count.kind, fmt::to_string(count.before), fmt::to_string(count.after),
               change == 0 ? "" : fmt::format("{:+}", change)});
  }
  return table.print();
}

std::string print_left_in_float(const Summary& summary) {
  using enum Table::Align;
  if (summary.left_in_float.empty()) return "  no weight is left in float\n";
  Table table({{"left in float"}, {"type"}, {"bytes", right}, {"why"}});
  const std::size_t shown = std::min(summary.left_in_float.size(), shown_weights);
  for (std::size_t i = 0; i < shown; ++i) {
    const WeightLeftInFloat& weight = summary.left_in_float[i];
    table.add({weight.name, to_string(weight.type), format_bytes(weight.bytes), weight.reason});
  }
  std::string text = table.print();
  if (shown < summary.left_in_float.size()) {
    text += fmt::format("  ... and {} more (in JSON all are listed)\n",
                        summary.left_in_float.size() - shown);
  }
  return text;
}

Json totals_json(const WeightTotals& totals) {
  return {{"count", totals.count},
          {"elements", totals.elements},
          {"bytes", totals.bytes},
          {"bits_per_element", totals.bits_per_element()}};
}

}  // namespace

std::string to_string(const Summary& summary) {
  return fmt::format("{}\n{}{}\n{}\n{}", print_sizes(summary), print_schemes(summary),
                     print_facts(summary), print_operations(summary), print_left_in_float(summary));
}

Json to_json(const Summary& summary) {
  Json operations = Json::array();
  for (const OperationCount& count : summary.operations) {
    operations.push_back({{"kind", count.kind}, {"before", count.before}, {"after", count.after}});
  }
  Json left = Json::array();
  for (const WeightLeftInFloat& weight : summary.left_in_float) {
    Json json = {{"name", weight.name}};
    json.update(to_json(weight.type));
    json.update(
        {{"bytes", weight.bytes}, {"eligible", weight.eligible}, {"reason", weight.reason}});
    left.push_back(std::move(json));
  }
  Json schemes = Json::array();
  for (const SchemeUse& use : summary.schemes) {
    schemes.push_back({{"name", use.name}, {"options", use.options}, {"weights", use.weights}});
  }
  return {{"scheme", summary.scheme},
          {"options", summary.options},
          {"schemes", std::move(schemes)},
          {"gain_model", summary.gain_model},
          {"gain_unit", summary.gain_unit},
          {"objective", summary.objective.amount()},
          {"bound", summary.bound ? Json(summary.bound->amount()) : Json(nullptr)},
          {"file_bytes_before", or_null(summary.file_bytes_before)},
          {"file_bytes_after", or_null(summary.file_bytes_after)},
          {"tensor_bytes_after", or_null(summary.tensor_bytes_after)},
          {"weights_before", totals_json(summary.weights_before)},
          {"weights_after", totals_json(summary.weights_after)},
          {"quantized_after", totals_json(summary.quantized_after)},
          {"given", totals_json(summary.given)},
          {"eligible", totals_json(summary.eligible)},
          {"eligible_quantized", totals_json(summary.eligible_quantized)},
          {"operations", std::move(operations)},
          {"left_in_float", std::move(left)},
          {"seconds", or_null(summary.seconds)}};
}

std::string print_json(const Summary& summary) { return text_of(to_json(summary)); }

}  // namespace quadrant::inline v0
