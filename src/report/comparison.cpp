#include <fmt/format.h>

#include <algorithm>

#include "quadrant/report/tables.hpp"
#include "report/agreement.hpp"

namespace quadrant::inline v0 {

namespace {

Table agreement_table(std::string title) {
  using enum Table::Align;
  return Table({{std::move(title)},
                {"from"},
                {"SQNR", right},
                {"cosine", right},
                {"largest error", right},
                {"equal", right}});
}

void add_row(Table& table, const ValueAgreement& value) {
  const Agreement& agreement = value.agreement;
  const double equal = agreement.elements == 0 ? 1.0
                                               : static_cast<double>(agreement.equal) /
                                                     static_cast<double>(agreement.elements);
  table.add({value.name, value.kind, format_sqnr(agreement),
             fmt::format("{:.6f}", agreement.cosine()),
             fmt::format("{:.4g}", agreement.largest_error), format_percent(equal)});
}

std::string print_layers(const std::vector<ValueAgreement>& layers) {
  std::vector<const ValueAgreement*> worst_first;
  worst_first.reserve(layers.size());
  for (const ValueAgreement& layer : layers) worst_first.push_back(&layer);
  std::ranges::stable_sort(worst_first, [](const ValueAgreement* a, const ValueAgreement* b) {
    return worse_than(a->agreement, b->agreement);
  });
  Table table = agreement_table("layer, the worst first");
  for (const ValueAgreement* layer : worst_first) add_row(table, *layer);
  return table.print();
}

std::string print_classes(const Comparison& comparison) {
  using enum Table::Align;
  Table table({{fmt::format("classes of '{}'", comparison.label_output)},
               {"rows", right},
               {"top-1", right},
               {"top-5", right}});
  const auto add = [&](std::string who, const ClassificationScore& score) {
    table.add({std::move(who), fmt::to_string(score.rows), format_percent(score.top1_share()),
               format_percent(score.top5_share())});
  };
  if (comparison.first) add("first model is right", *comparison.first);
  if (comparison.second) add("second model is right", *comparison.second);
  add("both say the same", comparison.same_class);
  return table.print();
}

std::string print_detections(const std::optional<Comparison::Precision>& first,
                             const Comparison::Precision& second) {
  using enum Table::Align;
  Table table({{"mean average precision"}, {"at 0.5", right}, {"0.5 to 0.95", right}});
  const auto add = [&](std::string who, const Comparison::Precision& precision) {
    table.add({std::move(who), fmt::format("{:.4f}", precision.at_half),
               fmt::format("{:.4f}", precision.mean)});
  };
  if (first) add("first model", *first);
  add(first ? "second model" : "second model, the first being right", second);
  return table.print();
}

Json list_of(const std::vector<ValueAgreement>& values) {
  Json list = Json::array();
  for (const ValueAgreement& value : values) list.push_back(to_json(value));
  return list;
}

Json to_json(const ClassificationScore& score) {
  return {{"rows", score.rows}, {"top1", score.top1_share()}, {"top5", score.top5_share()}};
}

Json to_json(const Comparison::Precision& precision) {
  return {{"at_0.5", precision.at_half}, {"at_0.5_to_0.95", precision.mean}};
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

}  // namespace

std::string to_string(const Comparison& comparison) {
  Table table = agreement_table("output");
  for (const ValueAgreement& output : comparison.outputs) add_row(table, output);
  std::string text = fmt::format("  {} sample{}\n\n{}", comparison.samples,
                                 comparison.samples == 1 ? "" : "s", table.print());
  if (!comparison.label_output.empty()) text += "\n" + print_classes(comparison);
  if (comparison.second_precision) {
    text += "\n" + print_detections(comparison.first_precision, *comparison.second_precision);
  }
  if (!comparison.layers.empty()) text += "\n" + print_layers(comparison.layers);
  return text;
}

Json to_json(const Comparison& comparison) {
  Json document{{"samples", comparison.samples},
                {"outputs", list_of(comparison.outputs)},
                {"layers", list_of(comparison.layers)}};
  if (!comparison.label_output.empty()) {
    document["classes"] = {{"output", comparison.label_output},
                           {"first", optional_json(comparison.first)},
                           {"second", optional_json(comparison.second)},
                           {"same", to_json(comparison.same_class)}};
  }
  if (comparison.second_precision) {
    document["mean_average_precision"] = {{"first", optional_json(comparison.first_precision)},
                                          {"second", optional_json(comparison.second_precision)}};
  }
  return document;
}

}  // namespace quadrant::inline v0
