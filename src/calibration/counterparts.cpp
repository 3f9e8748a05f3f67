#include "calibration/counterparts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/topology.hpp"

namespace quadrant::inline v0 {

namespace {

using Names = std::map<std::string_view, std::size_t>;

Names input_names(const Graph& graph) {
  Names names;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    names.emplace(graph.value_name({graph.inputs()[i], 0}), i);
  }
  return names;
}

Names output_names(const Graph& graph) {
  Names names;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    names.emplace(graph.name(graph.outputs()[i]), i);
  }
  return names;
}

Value output_value(const Graph& graph, std::size_t output) {
  return graph.operands(graph.outputs()[output])[0];
}

bool is_computed_real(const Graph& graph, Value value) {
  const std::string_view kind = graph.kind(value.node);
  const TensorType& type = graph.type(value);
  return kind != ops::Input::kind && kind != ops::Constant::kind && !type.is_quantized() &&
         may_be_real(type.element);
}

}  // namespace

Expected<std::vector<std::size_t>> input_counterparts(const Graph& first, const Graph& second) {
  const auto theirs = second.inputs();
  if (theirs.size() != first.inputs().size()) {
    return fail(
        ErrorCode::usage,
        fmt::format("the models have {} and {} inputs: only models with the same inputs can "
                    "be compared",
                    first.inputs().size(), theirs.size()));
  }
  const Names names = input_names(first);
  const bool by_name = std::ranges::all_of(
      theirs, [&](NodeId input) { return names.contains(second.value_name({input, 0})); });
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Value value{theirs[i], 0};
    result.push_back(by_name ? names.at(second.value_name(value)) : i);
    const ElementType element = second.type(value).element;
    const ElementType wanted = first.type({first.inputs()[result.back()], 0}).element;
    if (element != wanted) {
      return fail(
          ErrorCode::usage,
          fmt::format("the input is {} in one model and {} in the other: only models with the "
                      "same inputs can be compared",
                      to_string(wanted), to_string(element)),
          {.tensor = std::string(second.value_name(value))});
    }
  }
  return result;
}

Expected<std::vector<Counterpart>> output_counterparts(const Graph& first, const Graph& second,
                                                       Sink* sink) {
  const Names names = output_names(second);
  const auto ours = first.outputs();
  const bool by_name =
      std::ranges::any_of(ours, [&](NodeId output) { return names.contains(first.name(output)); });
  std::vector<Counterpart> result;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string name(first.name(ours[i]));
    const auto found = names.find(name);
    if (by_name && found != names.end()) {
      result.push_back({name, output_value(first, i), output_value(second, found->second)});
    } else if (!by_name && ours.size() == second.outputs().size()) {
      result.push_back({name, output_value(first, i), output_value(second, i)});
    } else if (sink != nullptr) {
      sink->report({Severity::warning,
                    "this output has none in the other model to compare with",
                    {.tensor = name}});
    }
  }
  if (result.empty()) {
    return fail(ErrorCode::usage, "the models have no outputs in common, and not as many");
  }
  return result;
}

Expected<std::vector<Counterpart>> layer_counterparts(const Graph& first, const Graph& second) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(first));
  std::vector<Counterpart> result;
  for (const NodeId node : order) {
    for (std::uint32_t i = 0; i < first.result_count(node); ++i) {
      const Value value{node, i};
      if (!is_computed_real(first, value) || first.value_name(value).empty()) continue;
      const Value other = second.find_value(first.value_name(value));
      if (other.is_absent() || !is_computed_real(second, other)) continue;
      result.push_back({std::string(first.value_name(value)), value, other});
    }
  }
  return result;
}

}  // namespace quadrant::inline v0
