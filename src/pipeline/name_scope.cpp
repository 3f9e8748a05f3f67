#include "pipeline/name_scope.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "recipe/name_pattern.hpp"
#include "recipe/node_names.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<NamePattern> compile(std::string_view list, const std::string& pattern) {
  auto made = NamePattern::make(pattern);
  if (!made) made.error().message = fmt::format("{}: {}", list, made.error().message);
  return made;
}

// What a pattern names.
struct Named {
  std::vector<NodeId> nodes;  // inputs of the graph included
  std::vector<Value> values;  // that were not meant as a node's: what a float value is for all
};

std::vector<std::string_view> names_in(const Graph& graph) {
  std::vector<std::string_view> names = all_names(graph);
  for (const NodeId input : graph.inputs()) names.push_back(graph.value_name({input, 0}));
  return names;
}

Named find_named(const Graph& graph, const NamePattern& pattern) {
  const auto matches = [&](std::string_view name) { return pattern.matches(name); };
  Named found;
  const auto add = [&](Value value) {
    found.nodes.push_back(value.node);
    found.values.push_back(value);
  };
  for (const NamedNode& node : named_nodes(graph)) {
    if (std::ranges::none_of(node.names, matches)) continue;
    if (graph.constant(node.id) != nullptr) {
      add({node.id, 0});
      continue;
    }
    found.nodes.push_back(node.id);
    const std::vector<Value> values = values_named(graph, node, pattern);
    found.values.insert(found.values.end(), values.begin(), values.end());
  }
  for (const NodeId input : graph.inputs()) {
    if (matches(graph.value_name({input, 0}))) add({input, 0});
  }
  for (const NodeId output : graph.outputs()) {
    const Value value = graph.operands(output)[0];
    const bool is_own_name = graph.name(output) != graph.value_name(value);
    if (is_own_name && matches(graph.name(output))) add(value);
  }
  return found;
}

// What `pattern` of `list`, which is a regular expression, names. `recipe`: the file that has it;
// empty: the caller has.
Expected<Named> find_matches(const Graph& graph, std::string_view list, const std::string& pattern,
                             const std::string& recipe) {
  QUADRANT_TRY(const NamePattern expression, compile(list, pattern));
  Named found = find_named(graph, expression);
  if (!found.nodes.empty()) return found;
  const std::string where = fmt::format("{}{}: ", recipe.empty() ? "" : "$.", list);
  for (const std::string& inner : graph.reserved_names()) {
    if (!expression.matches(inner)) continue;
    return fail(ErrorCode::usage,
                fmt::format("{}'{}' matches only what is in a subgraph, such as '{}': subgraphs "
                            "stay as they are, and nothing in them is quantized",
                            where, pattern, inner),
                {.file = recipe});
  }
  return fail(ErrorCode::usage,
              fmt::format("{}'{}' matches no node and no value{}", where, pattern,
                          did_you_mean(literal(pattern), names_in(graph), Match::part)),
              {.file = recipe});
}

}  // namespace

Expected<void> check_patterns(const ScopeOptions& options) {
  for (const auto& pattern : options.include) QUADRANT_CHECK(compile("include", pattern));
  for (const auto& pattern : options.exclude) QUADRANT_CHECK(compile("exclude", pattern));
  return {};
}

Expected<Scope> find_scope(const Graph& graph, const Registry& registry,
                           const ScopeOptions& options, const ScopeOrigin& origin) {
  const auto recipe_of = [&](std::size_t index, std::size_t count) {
    return index < count ? origin.recipe : std::string();
  };
  Scope scope;
  for (std::size_t i = 0; i < options.exclude.size(); ++i) {
    const std::string& pattern = options.exclude[i];
    QUADRANT_TRY(const Named named,
                 find_matches(graph, "exclude", pattern, recipe_of(i, origin.exclude)));
    const std::string reason = fmt::format("excluded by the pattern '{}'", pattern);
    for (const NodeId node : named.nodes) scope.vetoes.emplace(node, reason);
    for (const Value value : named.values) scope.value_vetoes.emplace(value, reason);
  }
  if (options.include.empty()) return scope;

  std::vector<NodeId> included;
  for (std::size_t i = 0; i < options.include.size(); ++i) {
    QUADRANT_TRY(const Named named,
                 find_matches(graph, "include", options.include[i], recipe_of(i, origin.include)));
    included.insert(included.end(), named.nodes.begin(), named.nodes.end());
  }
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  QUADRANT_TRY(const SchemeFacts facts, prepare_schemes(graph, registry));
  Vetoes others = restrict_to(
      graph, order, detect_eligibility(graph, order, registry, {}, {}, {}, facts), included,
      fmt::format("not included by the pattern '{}'", fmt::join(options.include, "' '")));
  scope.vetoes.merge(others);  // what is excluded too keeps that reason
  return scope;
}

}  // namespace quadrant::inline v0
