#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/report/tables.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/json.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

// Three digits: an estimate has no more.
std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string batch_text(const Placement& placement) {
  std::vector<std::string> inputs;
  inputs.reserve(placement.inputs.size());
  for (const InputBatch& input : placement.inputs) {
    inputs.push_back(fmt::format("{} [{}]", input.name, to_string(input.shape)));
  }
  return fmt::format("{} ({})", to_string(placement.batch), fmt::join(inputs, ", "));
}

std::string activations_text(const ActivationCount& activations) {
  std::string text = fmt::format("{} of {} quantized", activations.quantized, activations.count);
  if (!activations.first_unquantized.empty()) {
    text += fmt::format(", not '{}'", activations.first_unquantized);
  }
  if (activations.unknown_type != 0) {
    text += fmt::format("; {} of unknown type", activations.unknown_type);
  }
  return text;
}

std::string print_facts(const Placement& placement) {
  Table table({{""}, {""}});
  table.add({"parameters", std::string(to_string(placement.form))});
  table.add({"activations", activations_text(placement.activations)});
  if (!placement.inputs.empty()) table.add({"batch", batch_text(placement)});
  return table.print();
}

void add_totals(Table& table, std::string what, std::string type, const ParameterTotals& totals) {
  table.add({std::move(what), std::move(type), fmt::to_string(totals.count),
             fmt::to_string(totals.elements), format_bytes(totals.bytes)});
}

std::string print_storage(const ParameterList& list) {
  using enum Table::Align;
  Table table({{"stored as"}, {"type"}, {"count", right}, {"elements", right}, {"bytes", right}});
  for (const StorageTotals& row : list.storage) {
    add_totals(table, std::string(to_string(row.form)), std::string(to_string(row.storage)),
               row.totals);
  }
  if (list.settings.count != 0) add_totals(table, "settings", "", list.settings);
  if (list.integers.count != 0) add_totals(table, "integers", "", list.integers);
  return table.is_empty() ? std::string() : table.print() + '\n';
}

std::string print_loads(const Placement& placement) {
  using enum Table::Align;
  Table table({{"runtime"},
               {"file is"},
               {"converted", right},
               {"read", right},
               {"written", right},
               {"time", right},
               {"peak at load", right},
               {"after load", right}});
  for (const RuntimePlacement& runtime : placement.runtimes) {
    const std::string verdict(to_string(runtime.verdict));
    if (!runtime.load) {
      table.add({runtime.runtime, verdict});
      continue;
    }
    const LoadCost& load = *runtime.load;
    table.add({runtime.runtime, verdict, fmt::to_string(load.converted.elements),
               format_bytes(load.converted.bytes), format_bytes(load.bytes_written),
               format_seconds(load.seconds), format_bytes(load.peak_bytes),
               format_bytes(load.bytes_after)});
  }
  return table.print() +
         fmt::format("\n  Time is an estimate: {:g} elements converted in a second.\n",
                     placement.elements_per_second);
}

std::string refusal_text(const RuntimePlacement& runtime, const Placement& placement) {
  std::vector<std::string> reasons;
  if (runtime.refused.count != 0) {
    reasons.push_back(
        fmt::format("{} of {} cannot be used, '{}' is the largest", runtime.refused.count,
                    counted(placement.parameters.all.count, "parameter"), runtime.largest_refused));
  }
  if (runtime.refuses_activations) {
    const ActivationCount& activations = placement.activations;
    reasons.push_back(fmt::format(
        "{} of {} {} not quantized, '{}' is the first", activations.count - activations.quantized,
        counted(activations.count, "activation"), activations.count == 1 ? "is" : "are",
        activations.first_unquantized));
  }
  return fmt::to_string(fmt::join(reasons, "; "));
}

std::string execution_text(const RuntimePlacement& runtime) {
  return runtime.execution_depends_on_form ? "; it may run faster or slower from the other file"
                                           : "; it runs as fast as from the other file";
}

std::string print_remarks(const Placement& placement) {
  Table table({{"runtime"}, {"why, and what it means for the results"}});
  for (const RuntimePlacement& runtime : placement.runtimes) {
    table.add({runtime.runtime, runtime.accuracy
                                    ? to_string(*runtime.accuracy) + execution_text(runtime)
                                    : refusal_text(runtime, placement)});
  }
  return table.print();
}

std::string print_subnets(const RuntimePlacement& runtime, const RuntimeProfile& profile) {
  using enum Table::Align;
  if (!profile.split || runtime.subnets.empty()) return {};
  struct Side {
    std::uint64_t subnets = 0;
    std::uint64_t operations = 0;
    ParameterTotals parameters;
  };
  std::array<Side, 2> sides;
  for (const Subnet& subnet : runtime.subnets) {
    Side& side = subnet.is_first ? sides[0] : sides[1];
    ++side.subnets;
    side.operations += subnet.nodes.size();
    side.parameters.add(subnet.parameters);
  }
  Table table({{"subnets of " + profile.name},
               {"count", right},
               {"operations", right},
               {"parameters", right},
               {"bytes", right},
               {"uses"}});
  const auto add = [&](const std::string& name, const Side& side, const std::string& uses) {
    table.add({name, fmt::to_string(side.subnets), fmt::to_string(side.operations),
               fmt::to_string(side.parameters.count), format_bytes(side.parameters.bytes), uses});
  };
  add(profile.split->first, sides[0], profile.split->first_parameters);
  add(profile.split->second, sides[1], profile.split->second_parameters);
  const std::string_view would_be =
      runtime.load ? "" : "\n  The model is refused: so it would be divided once it is accepted.\n";
  return fmt::format("\n{}{}", table.print(), would_be);
}

Json totals_json(const ParameterTotals& totals) {
  return {{"count", totals.count}, {"elements", totals.elements}, {"bytes", totals.bytes}};
}

std::string_view verdict_key(PlacementVerdict verdict) {
  return verdict == PlacementVerdict::converted ? "converted" : to_string(verdict);
}

Json load_json(const LoadCost& load) {
  return {{"converted", totals_json(load.converted)},
          {"bytes_read", load.converted.bytes},
          {"bytes_written", load.bytes_written},
          {"seconds_estimated", load.seconds},
          {"peak_bytes", load.peak_bytes},
          {"bytes_after", load.bytes_after}};
}

Json accuracy_json(const AccuracyNote& note) {
  return {{"noise_in_file", note.noise_in_file},
          {"noise_at_load", note.noise_at_load},
          {"quantized_at_run", note.quantized_at_run},
          {"float_may_be_better", note.float_may_be_better},
          {"text", to_string(note)}};
}

Json subnet_json(const Subnet& subnet, const SubnetSplit& split, const GraphView& graph) {
  Json nodes = Json::array();
  for (const NodeId node : subnet.nodes) nodes.push_back(label(graph, node));
  return {{"runtime", subnet.is_first ? split.first : split.second},
          {"uses", subnet.is_first ? split.first_parameters : split.second_parameters},
          {"parameters", totals_json(subnet.parameters)},
          {"nodes", std::move(nodes)}};
}

Json runtime_json(const RuntimePlacement& runtime, const RuntimeProfile& profile,
                  const Placement& placement, const GraphView& graph) {
  Json json = {{"runtime", runtime.runtime},
               {"verdict", verdict_key(runtime.verdict)},
               {"reason", runtime.load ? Json(nullptr) : Json(refusal_text(runtime, placement))},
               {"refused_parameters", totals_json(runtime.refused)},
               {"load", runtime.load ? load_json(*runtime.load) : Json(nullptr)},
               {"accuracy", runtime.accuracy ? accuracy_json(*runtime.accuracy) : Json(nullptr)},
               {"execution_depends_on_form", runtime.execution_depends_on_form}};
  if (profile.split) {
    Json& subnets = json["subnets"] = Json::array();
    for (const Subnet& subnet : runtime.subnets) {
      subnets.push_back(subnet_json(subnet, *profile.split, graph));
    }
  }
  return json;
}

Json parameter_json(const Parameter& parameter) {
  constexpr std::array granularities{"tensor", "axis", "block"};
  Json json = {{"name", parameter.name},
               {"form", to_string(parameter.form)},
               {"element", to_string(parameter.storage)},
               {"elements", parameter.elements},
               {"bytes", parameter.bytes}};
  if (parameter.form == ParameterForm::quantized && parameter.scale != ElementType::undefined) {
    json["granularity"] = granularities.at(static_cast<std::size_t>(parameter.granularity.kind));
  }
  return json;
}

Json batch_json(const Placement& placement) {
  Json inputs = Json::array();
  for (const InputBatch& input : placement.inputs) {
    const Extent extent = input.shape.rank() > 0 ? input.shape[0] : Extent::open();
    inputs.push_back({{"name", input.name}, {"extent", to_json(extent)}});
  }
  return {{"state", to_string(placement.batch)}, {"inputs", std::move(inputs)}};
}

}  // namespace

std::string to_string(const AccuracyNote& note) {
  std::vector<std::string_view> remarks;
  if (note.noise_in_file) remarks.emplace_back("the file carries the noise of quantization");
  if (note.noise_at_load) remarks.emplace_back("conversion at load adds noise");
  if (note.float_may_be_better) remarks.emplace_back("a float file may be more accurate here");
  if (note.quantized_at_run) remarks.emplace_back("results may differ from those of a float model");
  if (remarks.empty()) remarks.emplace_back("no noise of quantization");
  return fmt::to_string(fmt::join(remarks, "; "));
}

std::string to_string(const Placement& placement) {
  std::string text =
      fmt::format("{}\n{}{}\n{}", print_facts(placement), print_storage(placement.parameters),
                  print_loads(placement), print_remarks(placement));
  for (std::size_t i = 0; i < placement.runtimes.size(); ++i) {
    text += print_subnets(placement.runtimes[i], placement.profiles[i]);
  }
  if (!placement.notes.empty()) text += '\n';
  for (const std::string& note : placement.notes) text += fmt::format("  {}\n", printable(note));
  return text;
}

std::string to_string(const FileChoice& choice) {
  Table table({{"runtime"}, {"float file"}, {"quantized file"}, {"less to convert"}});
  const auto taken = [](bool takes) { return std::string(takes ? "taken" : "refused"); };
  for (const RuntimeChoice& runtime : choice.runtimes) {
    table.add({runtime.runtime, taken(runtime.takes_float), taken(runtime.takes_quantized),
               std::string(to_string(runtime.loads_faster))});
  }
  std::string text = fmt::format("{}\n  ship: {}\n", table.print(), to_string(choice.advice));
  for (const std::string& reason : choice.reasons) {
    text += fmt::format("  - {}\n", printable(reason));
  }
  return text;
}

Json to_json(const Placement& placement, const GraphView& graph) {
  Json storage = Json::array();
  for (const StorageTotals& row : placement.parameters.storage) {
    Json json = {{"form", to_string(row.form)}, {"element", to_string(row.storage)}};
    json.update(totals_json(row.totals));
    storage.push_back(std::move(json));
  }
  Json parameters = Json::array();
  for (const Parameter& parameter : placement.parameters.parameters) {
    parameters.push_back(parameter_json(parameter));
  }
  Json runtimes = Json::array();
  for (std::size_t i = 0; i < placement.runtimes.size(); ++i) {
    runtimes.push_back(
        runtime_json(placement.runtimes[i], placement.profiles[i], placement, graph));
  }
  const ActivationCount& activations = placement.activations;
  return {{"form", to_string(placement.form)},
          {"parameters", totals_json(placement.parameters.all)},
          {"storage", std::move(storage)},
          {"settings", totals_json(placement.parameters.settings)},
          {"integers", totals_json(placement.parameters.integers)},
          {"unread", placement.parameters.unread},
          {"activations",
           {{"count", activations.count},
            {"quantized", activations.quantized},
            {"unknown_type", activations.unknown_type},
            {"first_unquantized", activations.first_unquantized.empty()
                                      ? Json(nullptr)
                                      : Json(activations.first_unquantized)}}},
          {"batch", batch_json(placement)},
          {"elements_per_second", placement.elements_per_second},
          {"runtimes", std::move(runtimes)},
          {"notes", placement.notes},
          {"constants", std::move(parameters)}};
}

Json to_json(const FileChoice& choice) {
  Json runtimes = Json::array();
  for (const RuntimeChoice& runtime : choice.runtimes) {
    runtimes.push_back({{"runtime", runtime.runtime},
                        {"takes_float", runtime.takes_float},
                        {"takes_quantized", runtime.takes_quantized},
                        {"loads_faster", to_string(runtime.loads_faster)}});
  }
  return {{"ship", to_string(choice.advice)},
          {"smaller", to_string(choice.smaller)},
          {"reasons", choice.reasons},
          {"runtimes", std::move(runtimes)}};
}

}  // namespace quadrant::inline v0
