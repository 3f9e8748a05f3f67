#include "cli/schemes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "calibration/located.hpp"
#include "cli/optimizations.hpp"
#include "cli/static_affine.hpp"
#include "cli/table_options.hpp"
#include "cli/weight_only.hpp"
#include "quadrant/recipe/recipe.hpp"

namespace quadrant::cli {

void SchemeCommand::declare(CLI::App& options) {
  declare_data(options, given_for_model_);
  cli::declare(options, entry_->options, given_);
}

Expected<void> SchemeCommand::check(std::span<const SchemeChoice> choices,
                                    const OptionValues& /*model*/) const {
  for (const SchemeChoice& choice : choices) {
    // Where its name says nothing, the message is better without it.
    if (choice.name == name()) {
      QUADRANT_CHECK(entry_->make(choice.options, {}));
    } else {
      QUADRANT_CHECK(quadrant::check(choice));
    }
  }
  return {};
}

Expected<Registry> SchemeCommand::make(SchemeSubject& /*subject*/,
                                       std::span<const SchemeChoice> choices,
                                       const OptionValues& /*model*/) const {
  return make_registry(choices);
}

Schemes::Schemes() {
  for (const SchemeEntry& entry : known_schemes()) {
    schemes_.push_back(entry.name == "static_affine" ? make_static_affine(entry)
                                                     : make_weight_only(entry));
  }
}

SchemeSteps::Finish bias_correction(const SchemeSubject& subject, const std::string& samples) {
  return [&console = *subject.console, path = subject.path, samples](
             const Graph& graph, Graph& quantized, Executor& executor) {
    return in_file(correct_on_samples(graph, quantized, samples, executor, console), path);
  };
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
  QUADRANT_TRY(const SchemeEntry* const entry, find_scheme(name));
  const auto found =
      std::ranges::find_if(schemes_, [&](const auto& scheme) { return &scheme->entry() == entry; });
  return found->get();
}

std::string Schemes::given_option(const SchemeCommand& scheme) const {
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (schemes_[i].get() != &scheme) continue;
    const auto given = std::ranges::find_if(
        options_[i], [](const CLI::Option* option) { return option->count() != 0; });
    if (given != options_[i].end()) return (*given)->get_name();
  }
  return "";
}

// What recipes say of the model, whatever the scheme, and data of one of the schemes: two of them
// may have the same option.
bool Schemes::is_of_run(std::span<const std::string> used, const std::string& option) const {
  if (std::ranges::find(recipe_model_options(), key_of(option), &OptionSpec::key) !=
      recipe_model_options().end()) {
    return true;
  }
  return std::ranges::any_of(schemes_, [&](const auto& scheme) {
    return std::ranges::find(used, scheme->name()) != used.end() && scheme->is_data(option);
  });
}

Expected<void> Schemes::check_given(std::span<const std::string> used,
                                    std::string_view chosen_elsewhere) const {
  for (std::size_t i = 0; i < options_.size(); ++i) {
    const SchemeCommand& scheme = *schemes_[i];
    const bool is_used = std::ranges::find(used, scheme.name()) != used.end();
    if (is_used && chosen_elsewhere.empty()) continue;
    for (const CLI::Option* const option : options_[i]) {
      if (option->count() == 0 || is_of_run(used, option->get_name())) continue;
      if (!is_used) {
        return fail(ErrorCode::usage,
                    fmt::format("{0} is an option of {1}, not of {2}: 'quadrant list {2}' shows "
                                "those",
                                option->get_name(), scheme.name(), fmt::join(used, ", ")));
      }
      return fail(ErrorCode::usage,
                  fmt::format("{} is an option of --scheme: {} has options of its own",
                              option->get_name(), chosen_elsewhere));
    }
  }
  return {};
}

}  // namespace quadrant::cli
