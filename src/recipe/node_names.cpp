#include "recipe/node_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "quadrant/ir/ops.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {

std::vector<NamedNode> named_nodes(const GraphView& graph) {
  std::vector<NamedNode> nodes;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId id = graph.node_at(i);
    if (!id.is_valid()) continue;
    const std::string_view kind = graph.kind(id);
    if (kind == ops::Input::kind || kind == ops::Output::kind) continue;
    NamedNode node{id, graph.name(id), {}};
    if (!node.own.empty()) node.names.push_back(node.own);
    for (std::uint32_t result = 0; result < graph.result_count(id); ++result) {
      node.names.push_back(graph.value_name({id, result}));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<Value> values_named(const GraphView& graph, const NamedNode& node,
                                const NamePattern& pattern) {
  std::vector<Value> values;
  if (!node.own.empty() && pattern.matches(node.own)) return values;
  for (std::uint32_t result = 0; result < graph.result_count(node.id); ++result) {
    const Value value{node.id, result};
    if (pattern.matches(graph.value_name(value))) values.push_back(value);
  }
  return values;
}

Expected<std::vector<Value>> values_called(const Graph& graph, const std::string& wanted) {
  std::vector<Value> found;
  for (const NamedNode& node : named_nodes(graph)) {
    if (node.own != wanted) continue;
    const std::uint32_t count = std::max(graph.result_count(node.id), std::uint32_t{1});
    for (std::uint32_t result = 0; result < count; ++result) found.push_back({node.id, result});
  }
  const Value value = graph.find_value(wanted);
  if (!value.is_absent() && std::ranges::find(found, value) == found.end()) found.push_back(value);
  if (!found.empty()) return found;
  const std::vector<std::string> inner = graph.reserved_names();
  if (std::ranges::find(inner, wanted) != inner.end()) {
    return fail(
        ErrorCode::usage,
        fmt::format("'{}' is in a subgraph: subgraphs stay as they are, and nothing in them "
                    "is quantized",
                    wanted));
  }
  return fail(ErrorCode::usage, fmt::format("no node and no value is called '{}'{}", wanted,
                                            did_you_mean(wanted, all_names(graph))));
}

void NamedValues::add(std::string_view name, Value value) {
  if (std::ranges::find(names, name) != names.end()) return;
  names.emplace_back(name);
  values.push_back(value);
}

namespace {

// Names of outputs, and of all values: an output may be called otherwise than its value.
std::vector<std::string_view> value_names(const Graph& graph, const NamedValues& outputs) {
  std::vector<std::string_view> names(outputs.names.begin(), outputs.names.end());
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      names.push_back(graph.value_name({node, result}));
    }
  }
  return names;
}

// `: that is an operation, which makes 'c1'`, where one is called so.
std::string values_of_operation(const Graph& graph, std::string_view name) {
  for (const NamedNode& node : named_nodes(graph)) {
    if (node.own != name || graph.result_count(node.id) == 0) continue;
    std::vector<std::string_view> made;
    made.reserve(graph.result_count(node.id));
    for (std::uint32_t result = 0; result < graph.result_count(node.id); ++result) {
      made.push_back(graph.value_name({node.id, result}));
    }
    return fmt::format(": that is an operation, which makes '{}'", fmt::join(made, "', '"));
  }
  return {};
}

}  // namespace

Expected<NamedValues> find_values(const Graph& graph, const std::vector<std::string>& wanted) {
  NamedValues outputs;
  for (const NodeId output : graph.outputs()) {
    outputs.add(graph.name(output), graph.operands(output)[0]);
  }
  if (wanted.empty()) return outputs;
  NamedValues found;
  for (const std::string& name : wanted) {
    const auto output = std::ranges::find(outputs.names, name);
    const Value value =
        output != outputs.names.end()
            ? outputs.values[static_cast<std::size_t>(output - outputs.names.begin())]
            : graph.find_value(name);
    if (value.is_absent()) {
      const std::string made = values_of_operation(graph, name);
      return fail(
          ErrorCode::usage,
          fmt::format("the model has no value '{}'{}", name,
                      made.empty() ? did_you_mean(name, value_names(graph, outputs)) : made));
    }
    found.add(name, value);
  }
  return found;
}

std::vector<std::string_view> all_names(const GraphView& graph) {
  std::vector<std::string_view> names;
  for (const NamedNode& node : named_nodes(graph)) {
    names.insert(names.end(), node.names.begin(), node.names.end());
  }
  return names;
}

}  // namespace quadrant::inline v0
