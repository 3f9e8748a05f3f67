#include "cli/schemes.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/static_affine.hpp"
#include "cli/weight_only.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {

Schemes::Schemes() {
  schemes_.push_back(make_static_affine());
  schemes_.push_back(make_weight_only());
}

Expected<void> run_before(const SchemeSteps& steps, Graph& graph, const Registry& registry,
                          const QuantizeOptions& options) {
  for (const auto& step : steps.before) QUADRANT_CHECK(step(graph, registry, options));
  return {};
}

Expected<QuantizeResult> quantize_with(const SchemeSteps& steps, Graph& graph,
                                       const Registry& registry, const QuantizeOptions& options,
                                       bool is_to_be_written) {
  QUADRANT_CHECK(run_before(steps, graph, registry, options));
  QUADRANT_TRY(QuantizeResult result, quantize(graph, registry, options));
  if (is_to_be_written) {
    for (const auto& step : steps.finish) {
      QUADRANT_CHECK(step(graph, result.graph, *options.executor));
    }
  }
  for (const auto& step : steps.review) step(graph, result);
  return result;
}

std::vector<const CLI::Option*> declare_under_heading(SchemeCommand& scheme, CLI::App& command) {
  const auto before = command.get_options();
  scheme.declare(command);
  std::vector<const CLI::Option*> added;
  for (CLI::Option* const option : command.get_options()) {
    if (std::ranges::find(before, option) != before.end()) continue;
    option->group(fmt::format("Options of {}", scheme.name()));
    added.push_back(option);
  }
  return added;
}

void Schemes::declare(CLI::App& command) {
  for (const auto& scheme : schemes_) options_.push_back(declare_under_heading(*scheme, command));
}

Expected<SchemeCommand*> Schemes::find(std::string_view name) const {
  std::string wanted(name);
  std::ranges::replace(wanted, '-', '_');
  const auto found =
      std::ranges::find_if(schemes_, [&](const auto& scheme) { return scheme->name() == wanted; });
  if (found != schemes_.end()) return found->get();
  std::vector<std::string_view> names;
  names.reserve(schemes_.size());
  for (const auto& scheme : schemes_) names.push_back(scheme->name());
  const std::string near = did_you_mean(wanted, names);
  return fail(
      ErrorCode::usage,
      fmt::format("there is no scheme '{}'{}", name,
                  near.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : near));
}

std::string Schemes::given_option() const {
  for (const auto& options : options_) {
    const auto given = std::ranges::find_if(
        options, [](const CLI::Option* option) { return option->count() != 0; });
    if (given != options.end()) return (*given)->get_name();
  }
  return "";
}

Expected<const SchemeCommand*> Schemes::choose(std::string_view name) const {
  QUADRANT_TRY(const SchemeCommand* const chosen, find(name));
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (schemes_[i].get() == chosen) continue;
    for (const CLI::Option* const option : options_[i]) {
      if (option->count() == 0) continue;
      return fail(
          ErrorCode::usage,
          fmt::format("{} is an option of {}, not of {}: 'quadrant list {}' shows those",
                      option->get_name(), schemes_[i]->name(), chosen->name(), chosen->name()));
    }
  }
  QUADRANT_CHECK(chosen->check());
  return chosen;
}

}  // namespace quadrant::cli
