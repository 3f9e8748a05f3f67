#include "quadrant/recipe/scheme_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/error.hpp"
#include "recipe/scheme_options.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<Registry> make_static_affine_registry(const OptionValues& values, const SchemeData& data) {
  QUADRANT_TRY(StaticAffineOptions options, static_affine_options(values));
  options.statistics = data.statistics;
  options.prescribed = data.prescribed;
  return static_affine_registry(std::move(options));
}

Expected<Registry> make_weight_only_registry(const OptionValues& values, const SchemeData& data) {
  QUADRANT_TRY(WeightOnlyOptions options, weight_only_options(values));
  options.moments = data.moments;
  options.on_rounded = data.on_rounded;
  return weight_only_registry(std::move(options));
}

// Those of the preset, which ONNX Runtime runs one and all.
Expected<std::vector<SchemeChoice>> weight_only_variants() {
  QUADRANT_TRY(const Preset* const preset, find_preset("mixed-4.5bit"));
  QUADRANT_TRY(Recipe recipe, parse_recipe(preset->text));
  return std::move(recipe.schemes);
}

// What rules and 'quadrant list' mean by a name already.
constexpr std::array<std::string_view, 7> taken_names{
    "fake_quantize", "float", "hardware", "operations", "presets", "qdq_fusion", "types"};

bool is_key(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, is_part);
}

Expected<void> check_option_keys(std::span<const OptionSpec> options) {
  std::set<std::string> taken;
  for (const OptionSpec& option : options) {
    if (!is_key(option.key)) {
      return fail(ErrorCode::usage, fmt::format("'{}' is no name for an option: lower-case "
                                                "letters, digits and '_', a letter first",
                                                option.key));
    }
    std::vector<std::string> names{std::string(option.key)};
    for (const OptionWord& word : option.words) {
      if (option.words_are_flags) names.push_back(key_of(word.word));
    }
    for (const std::string& name : names) {
      if (taken.insert(name).second) continue;
      return fail(ErrorCode::usage, fmt::format("two of its options are called '{}'", name));
    }
  }
  return {};
}

// That some value is possible, and the default is such.
Expected<void> check_values(const OptionSpec& option) {
  using Kind = OptionSpec::Kind;
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::usage, fmt::format("its option '{}' {}", option.key, what));
  };
  const bool has_words = option.kind == Kind::word || option.kind == Kind::words;
  const bool has_range =
      (option.kind == Kind::integer && option.numbers.empty()) || option.kind == Kind::real;
  if (has_words && option.words.empty()) return wrong("has no words");
  if (has_range && !(option.least <= option.most)) return wrong("has a range without numbers");
  if (option.fallback.empty() || option.kind == Kind::text) return {};
  const auto value = parse_option(option, option.fallback);
  const auto refused = value ? refusal(option, *value) : std::optional(value.error().message);
  return refused ? wrong(fmt::format("has a default that it does not take: {}", *refused))
                 : Expected<void>();
}

constexpr std::size_t library_schemes = 2;  // which stand first in a table

// What its options are called where they stand beside others': the library's by their keys alone.
std::vector<std::string> full_names(const SchemeEntry& scheme, bool is_own) {
  const std::string prefix = is_own ? fmt::format("{}_", scheme.name) : std::string();
  std::vector<std::string> names;
  for (const OptionSpec& option : scheme.options) {
    if (!option.words_are_flags) names.push_back(fmt::format("{}{}", prefix, option.key));
    for (const OptionWord& word : option.words) {
      if (option.words_are_flags) names.push_back(prefix + key_of(word.word));
    }
  }
  return names;
}

Expected<void> check_entry(const SchemeEntry& scheme) {
  const bool is_line = scheme.summary.find_first_not_of(' ') != std::string_view::npos &&
                       scheme.summary.find('\n') == std::string_view::npos;
  if (!is_line) return fail(ErrorCode::usage, "its summary is not one line that says what it does");
  const auto gains = recipe_gains();
  if (std::ranges::find(gains, scheme.gain) == gains.end()) {
    return fail(ErrorCode::usage, fmt::format("there is no gain '{}'{}", scheme.gain,
                                              did_you_mean_or_all(scheme.gain, gains)));
  }
  QUADRANT_CHECK(check_option_keys(scheme.options));
  for (const OptionSpec& option : scheme.options) QUADRANT_CHECK(check_values(option));
  if (scheme.make == nullptr) return fail(ErrorCode::usage, "it has no function 'make'");
  QUADRANT_CHECK(scheme.make({}, {}));
  return {};
}

// That none of its options is called as one of another's.
Expected<void> check_beside(const SchemeEntry& scheme, std::span<const SchemeEntry> others) {
  const std::vector<std::string> own = full_names(scheme, true);
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (const std::string& name : full_names(others[i], i >= library_schemes)) {
      if (std::ranges::find(own, name) == own.end()) continue;
      return fail(ErrorCode::usage,
                  fmt::format("one of its options would be called '{}', as one of {}",
                              option_of(name), others[i].name));
    }
  }
  return {};
}

}  // namespace

SchemeTable::SchemeTable()
    : schemes_{
          {.name = "static_affine",
           .summary = "weights and activations become integers, by the ranges seen on sample data",
           .gain = "operations",
           .needs_data = true,
           .options = static_affine_option_table(),
           .make = make_static_affine_registry},
          {.name = "weight_only",
           .summary = "weights become integers with shared scales; activations stay float",
           .gain = "bytes",
           .options = weight_only_option_table(),
           .make = make_weight_only_registry,
           .takes_moments = true,
           .variants = weight_only_variants}} {
  QUADRANT_ASSERT(schemes_.size() == library_schemes);
}

Expected<void> SchemeTable::add(SchemeEntry scheme) {
  if (!is_key(scheme.name)) {
    return fail(ErrorCode::usage, fmt::format("'{}' is no name for a scheme: lower-case letters, "
                                              "digits and '_', a letter first",
                                              scheme.name));
  }
  const bool is_reserved = std::ranges::find(taken_names, scheme.name) != taken_names.end();
  const bool is_taken =
      is_reserved || std::ranges::find(schemes_, scheme.name, &SchemeEntry::name) != schemes_.end();
  if (is_taken) {
    return fail(ErrorCode::usage,
                fmt::format("no scheme can be called '{}': {}", scheme.name,
                            is_reserved ? "that means something else where schemes are named"
                                        : "there is one of that name already"));
  }
  auto checked = check_entry(scheme);
  if (checked) checked = check_beside(scheme, schemes_);
  if (!checked) {
    checked.error().message = fmt::format("scheme {}: {}", scheme.name, checked.error().message);
    return checked;
  }
  schemes_.push_back(scheme);
  return {};
}

Expected<const SchemeEntry*> SchemeTable::find(std::string_view name) const {
  const std::string wanted = key_of(name);
  const auto found = std::ranges::find(schemes_, wanted, &SchemeEntry::name);
  if (found != schemes_.end()) return &*found;
  std::vector<std::string_view> names;
  names.reserve(schemes_.size());
  for (const SchemeEntry& scheme : schemes_) names.push_back(scheme.name);
  return fail(ErrorCode::usage,
              fmt::format("there is no scheme '{}'{}", name, did_you_mean_or_all(wanted, names)));
}

const SchemeTable& known_schemes() {
  static const SchemeTable schemes;
  return schemes;
}

Expected<const SchemeEntry*> find_scheme(std::string_view name) {
  return known_schemes().find(name);
}

}  // namespace quadrant::inline v0
