// A scheme with its options under a name: one of the variants that a run chooses from.
//
//   auto int4 = parse_scheme_choice("int4=weight-only,bits=4,block-size=32");
//   auto int8 = parse_scheme_choice("int8=weight-only");
//   auto registry = make_registry(std::vector{*int4, *int8});
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/recipe/option_table.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

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
