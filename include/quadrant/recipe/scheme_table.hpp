// Schemes as data: their options, the table of them, and choices with a name.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// Options as data: from one table of them the command makes its `--options`, recipes their keys,
// and the schema of recipes its properties.

using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;
/// The options that are given, by key; those that are not have their defaults.
using OptionValues = std::map<std::string, OptionValue, std::less<>>;

/// One of the words that an option takes.
struct OptionWord {
  std::string_view word;
  std::string_view summary = {};
};

/// An option. Refers to text that lives as long as the program.
struct OptionSpec {
  enum class Kind : std::uint8_t {
    flag,     ///< bool
    integer,  ///< std::int64_t
    real,     ///< double
    word,     ///< std::string, one of `words`
    words,    ///< several of them
    text,     ///< std::string, which its owner reads
  };

  std::string_view key;  ///< `block_size`; on the command line `--block-size`
  Kind kind = Kind::flag;
  std::string_view summary;
  std::vector<OptionWord> words = {};
  std::vector<std::int64_t> numbers = {};  ///< those that there are; empty: any of the range
  double least = 0;                        ///< of an integer or a real
  double most = 0;
  std::string_view placeholder = {};  ///< for a number of a range or text, in help: `N`
  std::string_view fallback = {};     ///< the default, where it is always the same
  bool words_are_flags = false;       ///< `--asymmetric` for `symmetry` = `asymmetric`
  std::string_view alone = {};        ///< the word that the option means without one
};

/// `block_size` for `--block-size`, `block-size` and `block_size`.
[[nodiscard]] std::string key_of(std::string_view option);
/// `block-size`, without dashes before it.
[[nodiscard]] std::string option_of(std::string_view key);

/// What the option is, for people, its words included.
[[nodiscard]] std::string describe(const OptionSpec& option);
/// What the option takes, for people: `8 or 4`, `a number from 50 to 100`.
[[nodiscard]] std::string expectation(const OptionSpec& option);
/// Why the option cannot have this value; empty where it can.
[[nodiscard]] std::optional<std::string> refusal(const OptionSpec& option,
                                                 const OptionValue& value);
/// The value that `text` means: `4`, `true`, `mse`, `cle+hba`. `usage` where it means none.
[[nodiscard]] Expected<OptionValue> parse_option(const OptionSpec& option, std::string_view text);
/// The other way.
[[nodiscard]] std::string to_string(const OptionValue& value);

/// The option of that key; `usage`, with near names, where there is none. `of`: whose, for that
/// message.
[[nodiscard]] Expected<const OptionSpec*> find_option(std::span<const OptionSpec> options,
                                                      std::string_view key, std::string_view of);

/// The given value, or null. The type is that of the option's kind once the values were checked.
template <class T>
[[nodiscard]] const T* given(const OptionValues& values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : std::get_if<T>(&found->second);
}

/// Whether each is an option of the table, with a value that it can have: else `usage`.
[[nodiscard]] Expected<void> check_options(std::span<const OptionSpec> options,
                                           const OptionValues& values, std::string_view of);

// Schemes as data: the library's, and those of others beside them.
//
//   SchemeTable schemes;                          // the library's
//   QUADRANT_CHECK(schemes.add(my::power_of_two()));
//   const RunContext context{.schemes = &schemes};  // recipes, runs, budgets know it from here on

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

// A scheme with its options under a name: one of the variants that a run chooses from.
//
//   auto int4 = parse_scheme_choice("int4=weight-only,bits=4,block-size=32");
//   auto int8 = parse_scheme_choice("int8=weight-only");
//   auto registry = make_registry(std::vector{*int4, *int8});

struct SchemeChoice {
  std::string name;    ///< in the run, in plans and explanations
  std::string scheme;  ///< as in its `SchemeTable`
  OptionValues options;

  friend bool operator==(const SchemeChoice&, const SchemeChoice&) = default;
};

/// Most variants of a run.
inline constexpr std::size_t most_choices = 64;

/// Whether a variant can be called so: letters, digits, `_`, `-` and `.`, but not `float`.
[[nodiscard]] Expected<void> check_choice_name(std::string_view name);

/// Reads `NAME=SCHEME,OPTION=VALUE,...`. Options go by the names of the command line, with `-` or
/// `_`; a flag needs no value, and a word that is a flag there (`asymmetric`) no option. `usage`,
/// with near names, for what is not known.
[[nodiscard]] Expected<SchemeChoice> parse_scheme_choice(
    std::string_view text, const SchemeTable& schemes = known_schemes());
/// The same text again, in the order of the keys.
[[nodiscard]] std::string to_string(const SchemeChoice& choice);

/// That the scheme is known and its options go together. An error names the choice.
[[nodiscard]] Expected<void> check(const SchemeChoice& choice,
                                   const SchemeTable& schemes = known_schemes());

/// All of them in one run. `data` is for those that need it.
[[nodiscard]] Expected<Registry> make_registry(std::span<const SchemeChoice> choices,
                                               const SchemeData& data = {},
                                               const SchemeTable& schemes = known_schemes());

}  // namespace quadrant::inline v0
