// The library's schemes, with their options as data.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/prescribed_encodings.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/recipe/option_table.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What schemes know of one model: no part of a recipe. May be null.
struct SchemeData {
  std::shared_ptr<const StatisticsTable> statistics;
  std::shared_ptr<const PrescribedEncodings> prescribed;
  std::shared_ptr<const SecondMomentsTable> moments;  ///< of weight_only
  /// WeightOnlyOptions::on_rounded.
  std::function<void(std::string_view weight, const RoundedWeights& rounded)> on_rounded{};
};

/// A scheme as people choose it.
struct SchemeEntry {
  std::string_view name;     ///< as in recipes and `--scheme`, where `-` is as good as `_`
  std::string_view summary;  ///< in one line
  std::string_view gain;     ///< the gain model that suits it
  bool needs_data = false;   ///< without statistics or prescribed encodings it does little
  std::span<const OptionSpec> options;
  /// The methods with these options, or why they do not go together.
  Expected<Registry> (*make)(const OptionValues& options, const SchemeData& data) = nullptr;
};

/// By name. Lives as long as the program.
[[nodiscard]] std::span<const SchemeEntry> known_schemes();
/// `-` and `_` being the same; an unknown one is a `usage` error with near names.
[[nodiscard]] Expected<const SchemeEntry*> find_scheme(std::string_view name);

/// The options as the scheme has them; `usage` for those that are wrong or do not go together.
[[nodiscard]] Expected<WeightOnlyOptions> weight_only_options(const OptionValues& values);
/// Without statistics and prescribed encodings.
[[nodiscard]] Expected<StaticAffineOptions> static_affine_options(const OptionValues& values);

}  // namespace quadrant::inline v0
