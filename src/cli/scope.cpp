#include "cli/scope.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string_view>

#include "cli/names.hpp"
#include "quadrant/engine/scope.hpp"
#include "quadrant/ir/topology.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);  // to stderr, if it did
  return options;
}

Expected<void> check_pattern(std::string_view option, const std::string& pattern) {
  const RE2 expression(pattern, quiet());
  if (expression.ok()) return {};
  return fail(ErrorCode::usage, fmt::format("{} '{}': {}", option, pattern, expression.error()));
}

bool matches(const RE2& expression, std::string_view name) {
  return RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), expression);
}

// `pattern` without what has a meaning in regular expressions: something that a name could hold.
std::string literal(std::string pattern) {
  std::erase_if(pattern, [](char c) {
    return std::string_view("\\^$*+?()[]{}|").find(c) != std::string_view::npos;
  });
  return pattern;
}

// The nodes that `pattern`, which is a regular expression, matches.
Expected<std::vector<NodeId>> find_matches(const Graph& graph, std::string_view option,
                                           const std::string& pattern) {
  const RE2 expression(pattern, quiet());
  std::vector<NodeId> found;
  for (const NamedNode& node : named_nodes(graph)) {
    if (std::ranges::any_of(node.names, [&](auto name) { return matches(expression, name); })) {
      found.push_back(node.id);
    }
  }
  if (!found.empty()) return found;
  return fail(ErrorCode::usage,
              fmt::format("{} '{}' matches no node and no value{}", option, pattern,
                          did_you_mean(literal(pattern), all_names(graph), Match::part)));
}

}  // namespace

Expected<void> check_patterns(const ScopeOptions& options) {
  for (const auto& pattern : options.include) QUADRANT_CHECK(check_pattern("--include", pattern));
  for (const auto& pattern : options.exclude) QUADRANT_CHECK(check_pattern("--exclude", pattern));
  return {};
}

Expected<Vetoes> find_vetoes(const Graph& graph, const Registry& registry,
                             const ScopeOptions& options) {
  Vetoes vetoes;
  for (const std::string& pattern : options.exclude) {
    QUADRANT_TRY(const auto matched, find_matches(graph, "--exclude", pattern));
    for (const NodeId node : matched) {
      vetoes.emplace(node, fmt::format("excluded by --exclude '{}'", pattern));
    }
  }
  if (options.include.empty()) return vetoes;

  std::vector<NodeId> included;
  for (const std::string& pattern : options.include) {
    QUADRANT_TRY(const auto matched, find_matches(graph, "--include", pattern));
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
