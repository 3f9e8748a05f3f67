#include "cli/scope.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "quadrant/engine/scope.hpp"
#include "quadrant/ir/topology.hpp"
#include "recipe/name_pattern.hpp"
#include "recipe/node_names.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

Expected<NamePattern> compile(std::string_view option, const std::string& pattern) {
  auto made = NamePattern::make(pattern);
  if (!made) made.error().message = fmt::format("{} {}", option, made.error().message);
  return made;
}

// The nodes that `pattern`, which is a regular expression, matches. `recipe`: the file that has it
// under the option's name; empty: the option has.
Expected<std::vector<NodeId>> find_matches(const Graph& graph, std::string_view option,
                                           const std::string& pattern, const std::string& recipe) {
  QUADRANT_TRY(const NamePattern expression, compile(option, pattern));
  std::vector<NodeId> found;
  for (const NamedNode& node : named_nodes(graph)) {
    if (std::ranges::any_of(node.names, [&](auto name) { return expression.matches(name); })) {
      found.push_back(node.id);
    }
  }
  if (!found.empty()) return found;
  const std::string where =
      recipe.empty() ? fmt::format("{} ", option) : fmt::format("$.{}: ", option.substr(2));
  return fail(ErrorCode::usage,
              fmt::format("{}'{}' matches no node and no value{}", where, pattern,
                          did_you_mean(literal(pattern), all_names(graph), Match::part)),
              {.file = recipe});
}

}  // namespace

Expected<void> check_patterns(const ScopeOptions& options) {
  for (const auto& pattern : options.include) QUADRANT_CHECK(compile("--include", pattern));
  for (const auto& pattern : options.exclude) QUADRANT_CHECK(compile("--exclude", pattern));
  return {};
}

Expected<Vetoes> find_vetoes(const Graph& graph, const Registry& registry,
                             const ScopeOptions& options, const ScopeOrigin& origin) {
  const auto recipe_of = [&](std::size_t index, std::size_t count) {
    return index < count ? origin.recipe : std::string();
  };
  Vetoes vetoes;
  for (std::size_t i = 0; i < options.exclude.size(); ++i) {
    const std::string& pattern = options.exclude[i];
    QUADRANT_TRY(const auto matched,
                 find_matches(graph, "--exclude", pattern, recipe_of(i, origin.exclude)));
    for (const NodeId node : matched) {
      vetoes.emplace(node, fmt::format("excluded by --exclude '{}'", pattern));
    }
  }
  if (options.include.empty()) return vetoes;

  std::vector<NodeId> included;
  for (std::size_t i = 0; i < options.include.size(); ++i) {
    QUADRANT_TRY(const auto matched, find_matches(graph, "--include", options.include[i],
                                                  recipe_of(i, origin.include)));
    included.insert(included.end(), matched.begin(), matched.end());
  }
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  Vetoes others =
      restrict_to(graph, order, detect_eligibility(graph, order, registry), included,
                  fmt::format("not included by --include '{}'", fmt::join(options.include, "' '")));
  vetoes.merge(others);  // what is excluded too keeps that reason
  return vetoes;
}

}  // namespace quadrant::cli
