#include "pipeline/remedy_trials.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "calibration/agreement_bytes.hpp"
#include "pipeline/cause_finder.hpp"
#include "pipeline/quantized_places.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "recipe/name_pattern.hpp"
#include "support/shared_items.hpp"

namespace quadrant::inline v0 {
namespace {

bool is_static(const Recipe& recipe) { return recipe.schemes[0].scheme == "static_affine"; }

Recipe with(Recipe recipe, std::string_view key, OptionValue value) {
  recipe.schemes[0].options.insert_or_assign(std::string(key), std::move(value));
  return recipe;
}

Recipe without(Recipe recipe, std::string_view key) {
  OptionValues& options = recipe.schemes[0].options;
  const auto found = options.find(key);
  if (found != options.end()) options.erase(found);
  return recipe;
}

Recipe optimizing(Recipe recipe, std::vector<std::string> names) {
  recipe.model.insert_or_assign("optimize", std::move(names));
  return recipe;
}

std::vector<Recipe> for_values(const Cause& cause, const Recipe& base) {
  const Recipe exact = leaving_in_float(base, cause.name);
  const auto encoded = [&](const char* encoding) {
    return with(base, "activation_encoding", std::string(encoding));
  };
  switch (cause.kind) {
    case CauseKind::clipped:
      return {base, exact};
    case CauseKind::dead_channels:
    case CauseKind::outlier_channel:
      return {optimizing(base, {"cle"}), exact, encoded("mse")};
    case CauseKind::wide_range:
    case CauseKind::rounding:
      return {encoded("mse"), encoded("percentile"), exact};
    default:
      return {exact};
  }
}

std::vector<Recipe> for_weights(const Cause& cause, const Recipe& base) {
  const Recipe exact = leaving_in_float(base, cause.name);
  if (is_static(base)) {
    const Recipe by_channel = without(without(base, "weights"), "asymmetric_weights");
    const Recipe wide = without(base, "weight_bits");
    return {by_channel, optimizing(base, {"cle"}),
            with(base, "weight_encoding", std::string("mse")), wide, exact};
  }
  const Recipe wide = without(base, "bits");
  const Recipe blocks = with(without(base, "granularity"), "block_size", std::int64_t{32});
  return {without(base, "granularity"), blocks, with(base, "symmetry", std::string("asymmetric")),
          wide, exact};
}

std::string key_of(const Recipe& recipe, bool saturating) {
  return print_recipe(recipe) + (saturating ? "saturating" : "");
}

}  // namespace

Recipe leaving_in_float(Recipe base, std::string_view name) {
  base.exclude.push_back(pattern_of(name));
  return base;
}

Recipe with_wide_activations(Recipe base) {
  return is_static(base) ? with(std::move(base), "activation_bits", std::int64_t{16}) : base;
}

std::vector<Recipe> remedies_for(const Cause& cause, const Recipe& base) {
  std::vector<Recipe> made;
  if (cause.kind == CauseKind::shifted_means) {
    made = {optimizing(base, {"bc"}), optimizing(base, {"cle", "bc"})};
  } else if (cause.kind == CauseKind::saturation) {
    made = {without(base, "saturation"), with(base, "saturation", std::string("7bit"))};
  } else if (cause.kind != CauseKind::float_island) {
    made = cause.is_weight ? for_weights(cause, base) : for_values(cause, base);
  }
  // A change that is none mends nothing, but for what was calibrated on other samples.
  const bool is_base_new = cause.kind == CauseKind::clipped && !cause.is_weight;
  if (!is_base_new) std::erase(made, base);
  return made;
}

Recipe united(const Recipe& first, const Recipe& second) {
  Recipe made = first;
  made.schemes[0].options.insert(second.schemes[0].options.begin(),
                                 second.schemes[0].options.end());
  made.model.insert(second.model.begin(), second.model.end());
  for (const std::string& pattern : second.exclude) {
    const bool is_there = std::ranges::find(made.exclude, pattern) != made.exclude.end();
    if (!is_there) made.exclude.push_back(pattern);
  }
  return made;
}

RemedyTrials::RemedyTrials(const Graph& real, const RunInputs& samples, const DataSet& data,
                           const DiagnoseOptions& options, RunContext context)
    : real_(real),
      calibration_(options.calibration.has_samples() ? options.calibration : samples),
      data_(data),
      options_(options),
      ranks_(context.ranks),
      context_(std::move(context)) {
  context_.sink = nullptr;
  context_.ranks = nullptr;
}

Expected<void> RemedyTrials::measure_ahead(std::span<const Recipe> recipes, bool saturating) {
  if (ranks_ == nullptr) return {};
  std::vector<const Recipe*> open;
  for (const Recipe& recipe : recipes) {
    if (!known_.contains(key_of(recipe, saturating))) open.push_back(&recipe);
  }
  if (open.empty()) return {};  // for all ranks, which know the same
  const auto own = [&]() -> Expected<std::string> {
    ByteWriter out;
    for (std::size_t i = ranks_->rank(); i < open.size(); i += ranks_->size()) {
      QUADRANT_TRY(const auto made, quantize_and_compare(*open[i], saturating));
      out.text(key_of(*open[i], saturating));
      out.number(static_cast<std::uint8_t>(made.has_value()));
      write(out, made.value_or(Agreement{}));
    }
    return out.take();
  };
  QUADRANT_TRY(const std::vector<std::string> of_ranks, ranks_->gather(own()));
  for (const std::string& bytes : of_ranks) {
    QUADRANT_CHECK(read_items(bytes, [&](ByteReader& in) -> Expected<void> {
      std::string key = in.text();
      const bool has_value = in.number<std::uint8_t>() != 0;
      const Agreement made = read_agreement(in);
      if (!in.failed()) {
        known_.emplace(std::move(key), has_value ? std::optional(made) : std::nullopt);
      }
      return {};
    }));
  }
  return {};
}

Expected<std::optional<Agreement>> RemedyTrials::measure(const Recipe& recipe, bool saturating) {
  QUADRANT_CHECK(measure_ahead(std::span(&recipe, 1), saturating));
  const std::string key = key_of(recipe, saturating);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  QUADRANT_TRY(const auto made, quantize_and_compare(recipe, saturating));
  known_.emplace(key, made);
  return made;
}

Expected<std::optional<Agreement>> RemedyTrials::quantize_and_compare(const Recipe& recipe,
                                                                      bool saturating) const {
  QUADRANT_CHECK(context_.check_stop());
  RunRequest request{.recipe = {recipe, "a remedy"},
                     .inputs = calibration_,
                     .model = options_.real_name,
                     .destination = options_.destination};
  const auto done = run(std::move(request), real_, context_);
  const auto measured = [&]() -> Expected<WorstOutput> {
    if (!done) return fail(done.error());
    QUADRANT_TRY(const Graph made, spelled_out(done->quantized.graph));
    const Interpreter runtime = saturating ? saturating_runtime(options_.destination, context_)
                                           : Interpreter({}, context_.run_memory);
    return worst_output(real_, made, runtime, data_, options_, context_);
  }();
  if (measured) return measured->agreement;
  // A file that cannot be read says nothing of the recipe.
  const ErrorCode code = measured.error().code;
  if (code == ErrorCode::cancelled || code == ErrorCode::io) return fail(measured.error());
  return std::nullopt;
}

}  // namespace quadrant::inline v0
