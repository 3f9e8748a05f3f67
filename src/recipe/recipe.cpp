#include "quadrant/recipe/recipe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "quadrant/recipe/scheme_table.hpp"
#include "recipe/name_pattern.hpp"
#include "recipe/recipe_words.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

Error in_rule(Error error, std::size_t rule) {
  error.message = fmt::format("rule {}: {}", rule + 1, error.message);
  return error;
}

Error keyed(std::string_view key, Error error) {
  error.message = fmt::format("{}: {}", key, error.message);
  return error;
}

class SchemeResolver {
 public:
  SchemeResolver(const Recipe& recipe, const SchemeTable& known)
      : recipe_(recipe), known_(known), found_{recipe.schemes, {}} {}

  [[nodiscard]] Expected<RuleSchemes> run() && {
    for (std::size_t i = 0; i < recipe_.rules.size(); ++i) {
      auto names = resolve(recipe_.rules[i], i);
      if (!names) return fail(in_rule(std::move(names).error(), i));
      found_.rules.push_back(*std::move(names));
    }
    if (found_.all.size() > most_choices) {
      return fail(ErrorCode::usage, fmt::format("{} schemes in one recipe: there can be {}",
                                                found_.all.size(), most_choices));
    }
    QUADRANT_CHECK(check_names());
    return std::move(found_);
  }

 private:
  [[nodiscard]] Expected<void> check_names() const {
    std::set<std::string_view> names;
    for (const SchemeChoice& choice : found_.all) {
      if (names.insert(choice.name).second) continue;
      return fail(ErrorCode::usage, fmt::format("two schemes are called '{}'", choice.name));
    }
    return {};
  }

  [[nodiscard]] Expected<std::vector<std::string>> resolve(const RecipeRule& rule,
                                                           std::size_t index) {
    if (!rule.options.empty() && rule.schemes.size() != 1) {
      return fail(ErrorCode::usage, "options go with one scheme, which they are of");
    }
    std::vector<std::string> names;
    for (const std::string& name : rule.schemes) {
      if (name == "float") {
        return fail(ErrorCode::usage,
                    "scheme: 'float' stands alone; beside others it says nothing, since they can "
                    "be left out anyway");
      }
      QUADRANT_TRY(SchemeChoice choice, find(name));
      if (!rule.options.empty()) {
        for (const auto& [key, value] : rule.options) choice.options[key] = value;
        choice.name = fmt::format("{}.{}", choice.name, index + 1);
      }
      names.push_back(add(std::move(choice)));
    }
    return names;
  }

  // The name of one that is the same but for the name, which from now on there is.
  std::string add(SchemeChoice choice) {
    if (std::ranges::find(found_.all, choice) != found_.all.end()) return choice.name;
    for (const SchemeChoice& known : found_.all) {
      if (known.scheme == choice.scheme && known.options == choice.options) return known.name;
    }
    return found_.all.emplace_back(std::move(choice)).name;
  }

  [[nodiscard]] Expected<SchemeChoice> find(const std::string& name) const {
    const auto own = std::ranges::find(recipe_.schemes, name, &SchemeChoice::name);
    if (own != recipe_.schemes.end()) return *own;
    if (const auto scheme = known_.find(name)) {
      return SchemeChoice{std::string((*scheme)->name), std::string((*scheme)->name), {}};
    }
    std::vector<std::string_view> names{"float"};
    for (const SchemeChoice& choice : recipe_.schemes) names.push_back(choice.name);
    for (const SchemeEntry& scheme : known_) names.push_back(scheme.name);
    return fail(ErrorCode::usage,
                fmt::format("scheme: there is no scheme '{}': those of your own are defined under "
                            "'schemes'{}",
                            name, did_you_mean_or_all(name, names)));
  }

  const Recipe& recipe_;
  const SchemeTable& known_;
  RuleSchemes found_;
};

/// What is done besides by those alone who know the codes that are made.
struct KnownCodes {
  std::string_view what;  // a key of the model's options, or a word
  std::vector<std::string_view> schemes;
};

const KnownCodes* find_known_codes(std::string_view what) {
  static const std::array all{KnownCodes{"bc-analytic", {"static_affine"}},
                              KnownCodes{"migrate", {"static_affine", "weight_only"}},
                              KnownCodes{"sequential", {"weight_only"}},
                              KnownCodes{"low_rank", {"weight_only"}}};
  const auto* const found = std::ranges::find(all, what, &KnownCodes::what);
  return found == all.end() ? nullptr : found;
}

constexpr double most_rank = 65536;

bool takes(const SchemeEntry& scheme, std::string_view what) {
  const KnownCodes* const known = find_known_codes(what);
  return known == nullptr || std::ranges::find(known->schemes, scheme.name) != known->schemes.end();
}

}  // namespace

std::span<const std::string_view> recipe_gains() {
  static constexpr std::array<std::string_view, 4> names{"bytes", "latency", "operations", "unit"};
  return names;
}

std::span<const std::string_view> recipe_policies() {
  static constexpr std::array<std::string_view, 2> names{"greedy", "optimal"};
  return names;
}

std::span<const OptionSpec> recipe_model_options() {
  using enum OptionSpec::Kind;
  static const std::array table{
      OptionSpec{
          .key = "optimize",
          .kind = words,
          .summary = "Transforms of the float model, and corrections of biases, one or several",
          .words = {{"rotate",
                     "mixes the channels of what a transformer's blocks add up, so that none "
                     "stands out"},
                    {"cle", "equalizes the channels of neighbouring layers"},
                    {"hba", "moves high biases on to the next layer"},
                    {"migrate",
                     "moves factors of channels from the data of products into their weights, "
                     "where that lowers the error on the samples"},
                    {"bc",
                     "corrects biases for the shift that quantization causes, measured on these "
                     "samples: slow"},
                    {"bc-analytic", "the same from batch normalizations: fast"}},
          .placeholder = "cle,hba,bc"},
      OptionSpec{.key = "relu6",
                 .kind = word,
                 .summary = "How 'cle' treats a ReLU6 between layers that it equalizes: a limit "
                            "for each channel, or a ReLU, which changes the model a little",
                 .words = {{"exact"}, {"relu"}},
                 .fallback = "exact"},
      OptionSpec{.key = "sequential",
                 .kind = flag,
                 .summary = "Of weight_only: each layer's weights are rounded by its inputs in the "
                            "model whose earlier layers are rounded, and make up for their errors: "
                            "samples run many times"},
      OptionSpec{.key = "low_rank",
                 .kind = integer,
                 .summary = "Of weight_only: what the codes of matrix products miss is added in "
                            "part, by two more products with float factors of this rank, chosen "
                            "by the samples where there are some",
                 .least = 1,
                 .most = most_rank,
                 .placeholder = "RANK"},
      OptionSpec{
          .key = "effort",
          .kind = word,
          .summary =
              "Sets other options that are not given: samples for ranges alone; weights rounded "
              "with error feedback, and biases corrected; or the most accurate, which takes longer",
          .words = {{"fast"}, {"balanced"}, {"best"}}}};
  return table;
}

std::vector<OptionSpec> model_options_of(const SchemeEntry& scheme) {
  std::vector<OptionSpec> taken;
  for (const OptionSpec& option : recipe_model_options()) {
    if (!takes(scheme, option.key)) continue;
    std::erase_if(taken.emplace_back(option).words,
                  [&](const OptionWord& word) { return !takes(scheme, word.word); });
  }
  return taken;
}

Expected<void> check_model_options(const OptionValues& model,
                                   std::span<const SchemeEntry* const> schemes) {
  const auto check = [&](std::string_view what, std::string_view name) -> Expected<void> {
    const auto is_for = [&](const SchemeEntry* scheme) { return takes(*scheme, what); };
    const auto is_against = [&](const SchemeEntry* scheme) {
      return !is_for(scheme) && !find_scheme(scheme->name);
    };
    if (std::ranges::any_of(schemes, is_for) && std::ranges::none_of(schemes, is_against)) {
      return {};
    }
    std::vector<std::string_view> names;
    for (const SchemeEntry* const scheme : schemes) names.push_back(scheme->name);
    return fail(
        ErrorCode::usage,
        fmt::format("{} knows the codes of {}, not those of other schemes: this run is of {}", name,
                    fmt::join(find_known_codes(what)->schemes, " and "), fmt::join(names, ", ")));
  };
  for (const auto& [key, value] : model) {
    const auto* const flag = std::get_if<bool>(&value);
    if (flag == nullptr || *flag) QUADRANT_CHECK(check(key, key));
    const auto* const words = std::get_if<std::vector<std::string>>(&value);
    if (words == nullptr) continue;
    for (const std::string& word : *words) {
      QUADRANT_CHECK(check(word, fmt::format("{} {}", key, word)));
    }
  }
  return {};
}

Expected<RuleSchemes> schemes_of(const Recipe& recipe, const SchemeTable& schemes) {
  return SchemeResolver(recipe, schemes).run();
}

std::optional<std::string> refusal_of_target_bits(double bits) {
  if (bits > 0 && bits <= most_target_bits) return std::nullopt;  // false for NaN
  return fmt::format("expected a number above 0, up to {}, found {}", most_target_bits, bits);
}

Expected<void> check(const Recipe& recipe, const SchemeTable& schemes) {
  if (recipe.rules.size() > most_rules) {
    return fail(ErrorCode::usage,
                fmt::format("{} rules: there can be {}", recipe.rules.size(), most_rules));
  }
  for (const auto& [key, word, known] : {std::tuple("gain", &recipe.gain, recipe_gains()),
                                         std::tuple("policy", &recipe.policy, recipe_policies())}) {
    if (word->empty() || std::ranges::find(known, *word) != known.end()) continue;
    return fail(ErrorCode::usage, fmt::format("{}: there is no '{}'{}", key, *word,
                                              did_you_mean_or_all(*word, known)));
  }
  if (!recipe.hardware.empty() && recipe.gain != "latency") {
    return fail(ErrorCode::usage,
                fmt::format("hardware: '{}' says what the gain model 'latency' predicts with, and "
                            "that is not the gain model here",
                            recipe.hardware));
  }
  if (recipe.target_bits) {
    if (const auto why = refusal_of_target_bits(*recipe.target_bits)) {
      return fail(ErrorCode::usage, fmt::format("target_bits: {}", *why));
    }
  }
  QUADRANT_TRY(const RuleSchemes used, schemes_of(recipe, schemes));
  for (const SchemeChoice& choice : used.all) QUADRANT_CHECK(check(choice, schemes));
  QUADRANT_CHECK(check_options(recipe_model_options(), recipe.model, "model"));
  for (std::size_t i = 0; i < recipe.rules.size(); ++i) {
    const auto& name = recipe.rules[i].match.name;
    if (!name) continue;
    const auto pattern = NamePattern::make(*name);
    if (!pattern) return fail(in_rule(keyed("match.name", pattern.error()), i));
  }
  for (const auto& [key, patterns] :
       {std::pair("include", &recipe.include), std::pair("exclude", &recipe.exclude)}) {
    for (const std::string& pattern : *patterns) {
      const auto made = NamePattern::make(pattern);
      if (!made) return fail(keyed(key, made.error()));
    }
  }
  return {};
}

}  // namespace quadrant::inline v0
