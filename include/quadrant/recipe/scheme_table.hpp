// Schemes as data: the library's, and those of others beside them.
//
//   SchemeTable schemes;                          // the library's
//   QUADRANT_CHECK(schemes.add(my::power_of_two()));
//   const RunContext context{.schemes = &schemes};  // recipes, runs, budgets know it from here on
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/prescribed_encodings.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/recipe/option_table.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct SchemeChoice;

/// What schemes know of one model: no part of a recipe. May be null.
struct SchemeData {
  std::shared_ptr<const StatisticsTable> statistics;
  std::shared_ptr<const PrescribedEncodings> prescribed;
  std::shared_ptr<const SecondMomentsTable> moments;  ///< of weight_only
  /// WeightOnlyOptions::on_rounded.
  std::function<void(std::string_view weight, const RoundedWeights& rounded)> on_rounded{};

  /// Of a scheme that is derived from WeightOnly: its number format, and what is known of weights.
  [[nodiscard]] WeightOnlyOptions weights(std::string type) const {
    WeightOnlyOptions options;
    options.type = std::move(type);
    options.moments = moments;
    options.on_rounded = on_rounded;
    return options;
  }
};

/// What a scheme is made by, where there are samples.
enum class SchemeInput : std::uint8_t {
  nothing,
  ranges,   ///< SchemeEntry::needs_data
  moments,  ///< SchemeEntry::takes_moments
};

/// A scheme as people choose it. Refers to text that lives as long as the program.
struct SchemeEntry {
  std::string_view name;     ///< as in recipes and `--scheme`, where `-` is as good as `_`
  std::string_view summary;  ///< in one line
  std::string_view gain;     ///< the gain model that suits it, one of `recipe_gains`
  bool needs_data = false;   ///< without statistics or prescribed encodings it does little
  std::span<const OptionSpec> options;
  /// The methods with these options, or why they do not go together: options that are not of the
  /// table are to be refused (`check_options`). `data` is empty where options are only checked.
  Expected<Registry> (*make)(const OptionValues& options, const SchemeData& data) = nullptr;
  /// Gets the second moments of what weights are multiplied by, where there are samples.
  bool takes_moments = false;
  /// The ways to store a weight among which a budget chooses where the scheme alone is named; null:
  /// it is no way to store a weight, and budgets refuse it.
  Expected<std::vector<SchemeChoice>> (*variants)() = nullptr;
};

/// Of a scheme without options, made of what is known, or of nothing; its name is a literal.
template <std::constructible_from<SchemeData> S>
[[nodiscard]] SchemeEntry scheme_entry(std::string_view summary,
                                       SchemeInput input = SchemeInput::nothing) {
  return {.name = S(SchemeData{}).name(),
          .summary = summary,
          .gain = "bytes",
          .needs_data = input == SchemeInput::ranges,
          .make = [](const OptionValues& options, const SchemeData& data) -> Expected<Registry> {
            S scheme(data);
            QUADRANT_CHECK(check_options({}, options, scheme.name()));
            return RegistryBuilder::of(std::move(scheme)).freeze();
          },
          .takes_moments = input == SchemeInput::moments};
}

/// The schemes that recipes and options can name. A value: readers may share it between threads.
class SchemeTable {
 public:
  /// The library's own.
  SchemeTable();

  /// Adds one. `usage` where its name is none (lower-case letters, digits, `_`) or taken, its
  /// summary is no line, its gain is none, its options could not be told apart from another's on a
  /// command line, or `make` is missing or does not work without options.
  [[nodiscard]] Expected<void> add(SchemeEntry scheme);

  [[nodiscard]] std::span<const SchemeEntry> all() const noexcept { return schemes_; }
  [[nodiscard]] auto begin() const noexcept { return all().begin(); }
  [[nodiscard]] auto end() const noexcept { return all().end(); }
  /// `-` and `_` being the same; an unknown one is a `usage` error with near names. Entries move
  /// when one is added.
  [[nodiscard]] Expected<const SchemeEntry*> find(std::string_view name) const;

 private:
  std::vector<SchemeEntry> schemes_;  // the library's by name, then the others as they came
};

/// The library's. Lives as long as the program.
[[nodiscard]] const SchemeTable& known_schemes();
/// `SchemeTable::find` of the library's.
[[nodiscard]] Expected<const SchemeEntry*> find_scheme(std::string_view name);

/// The options as the scheme has them; `usage` for those that are wrong or do not go together.
[[nodiscard]] Expected<WeightOnlyOptions> weight_only_options(const OptionValues& values);
/// Without statistics and prescribed encodings.
[[nodiscard]] Expected<StaticAffineOptions> static_affine_options(const OptionValues& values);

}  // namespace quadrant::inline v0
