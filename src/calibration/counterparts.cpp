#include "calibration/counterparts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

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

Expected<std::vector<std::size_t>> input_counterparts(const Graph& first, const Graph& second,
                                                      const CompareNames& names) {
  const auto ours = first.inputs();
  const auto theirs = second.inputs();
  if (theirs.size() != ours.size()) {
    return fail(
        ErrorCode::usage,
        fmt::format("the models have {} and {} inputs: only models with the same inputs can "
                    "be compared",
                    ours.size(), theirs.size()));
  }
  const Names our_names = input_names(first);
  const auto is_ours = [&](NodeId input) {
    return our_names.contains(second.value_name({input, 0}));
  };
  const bool by_name = std::ranges::any_of(theirs, is_ours);
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Value value{theirs[i], 0};
    const std::string name(second.value_name(value));
    if (by_name && !is_ours(theirs[i])) {
      return fail(ErrorCode::usage,
                  fmt::format("'{}' has no input of this name, but others of this model: inputs "
                              "must have the same names, or all have others",
                              names.first),
                  {.file = names.second, .tensor = name});
    }
    result.push_back(by_name ? our_names.at(name) : i);
    const TensorType& wanted = first.type({ours[result.back()], 0});
    const TensorType& type = second.type(value);
    if (type.element != wanted.element || !may_equal(type.shape, wanted.shape)) {
      return fail(
          ErrorCode::usage,
          fmt::format("the input is {} [{}], but {} [{}] in '{}': only models with the same inputs "
                      "can be compared",
                      to_string(type.element), to_string(type.shape), to_string(wanted.element),
                      to_string(wanted.shape), names.first),
          {.file = names.second, .tensor = name});
    }
  }
  return result;
}

Expected<std::vector<Counterpart>> output_counterparts(const Graph& first, const Graph& second,
                                                       const CompareNames& names, Sink* sink) {
  const auto ours = first.outputs();
  const auto theirs = second.outputs();
  const Names our_names = output_names(first);
  const Names their_names = output_names(second);
  const auto is_common = [&](NodeId output) { return their_names.contains(first.name(output)); };
  const bool by_name = std::ranges::any_of(ours, is_common);
  if (!by_name && (ours.empty() || ours.size() != theirs.size())) {
    return fail(ErrorCode::usage, "the models have no outputs in common, and not as many");
  }
  const auto warn = [&](const std::string& file, std::string_view name) {
    if (sink == nullptr) return;
    sink->report({Severity::warning,
                  "this output has none in the other model to compare with",
                  {.file = file, .tensor = std::string(name)}});
  };
  std::vector<Counterpart> result;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string name(first.name(ours[i]));
    if (by_name && !is_common(ours[i])) {
      warn(names.first, name);
      continue;
    }
    result.push_back(
        {name, output_value(first, i), output_value(second, by_name ? their_names.at(name) : i)});
  }
  for (const NodeId output : theirs) {
    const std::string_view name = second.name(output);
    if (by_name && !our_names.contains(name)) warn(names.second, name);
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
