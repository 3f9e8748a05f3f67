#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "quadrant/recipe/recipe.hpp"
#include "recipe/json_reader.hpp"
#include "recipe/recipe_words.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

using Json = nlohmann::ordered_json;

// --- Reading ---

bool has_member(ObjectReader& reader, const char* key) {
  return reader.optional_member(key) != nullptr;
}

std::string optional_string(ObjectReader& reader, const char* key) {
  return has_member(reader, key) ? reader.string(key) : std::string();
}

// A string, or a list of them.
std::vector<std::string> string_or_strings(ObjectReader& reader, const char* key) {
  const nlohmann::json* const member = reader.optional_member(key);
  if (member == nullptr) return {};
  if (member->is_string()) return {reader.string(key)};
  return reader.strings(key);
}

// The same, but what is there must name something.
std::vector<std::string> some_strings(ObjectReader& reader, const char* key) {
  std::vector<std::string> strings = string_or_strings(reader, key);
  if (strings.empty() && has_member(reader, key)) reader.refuse(key, "an empty list");
  return strings;
}

// One of `words`, or empty.
std::string optional_word(ObjectReader& reader, const char* key,
                          std::span<const std::string_view> words) {
  std::string word = optional_string(reader, key);
  if (!has_member(reader, key) || std::ranges::find(words, word) != words.end()) return word;
  reader.refuse(key, fmt::format("'{}' is none of {}{}", word, fmt::join(words, ", "),
                                 did_you_mean(word, words)));
  return {};
}

OptionValue read_option(ObjectReader& reader, const OptionSpec& option, const char* key) {
  switch (option.kind) {
    case OptionSpec::Kind::flag:
      return reader.boolean(key);
    case OptionSpec::Kind::integer:
      return reader.whole_number(key);
    case OptionSpec::Kind::real:
      return reader.real(key);
    case OptionSpec::Kind::word:
    case OptionSpec::Kind::text:
      return reader.string(key);
    case OptionSpec::Kind::words:
      break;
  }
  return string_or_strings(reader, key);
}

// The options of a table under `key`, which may be missing. `of`: whose.
OptionValues read_options(ObjectReader& parent, const char* key,
                          std::span<const OptionSpec> options, std::string_view of) {
  OptionValues values;
  std::optional<ObjectReader> reader = parent.optional_object(key);
  if (!reader) return values;
  for (const OptionSpec& option : options) {
    const std::string name(option.key);
    if (!has_member(*reader, name.c_str())) continue;
    OptionValue value = read_option(*reader, option, name.c_str());
    const auto why = refusal(option, value);
    if (why && reader->status()) reader->refuse(name.c_str(), *why);
    values.emplace(name, std::move(value));
  }
  for (const std::string& unknown : reader->take_unknown()) {
    const auto found = find_option(options, unknown, of);
    if (!found) reader->refuse(unknown.c_str(), found.error().message);
  }
  parent.note(reader->finish());
  return values;
}

std::vector<SchemeChoice> read_schemes(ObjectReader& parent, const SchemeTable& known) {
  std::vector<SchemeChoice> schemes;
  std::optional<ObjectReader> reader = parent.optional_object("schemes");
  if (!reader) return schemes;
  for (const std::string& name : reader->take_unknown()) {
    std::optional<ObjectReader> entry = reader->optional_object(name.c_str());
    if (!entry) break;
    SchemeChoice choice{name, entry->string("scheme"), {}};
    if (const auto status = check_choice_name(name); !status) {
      reader->refuse(name.c_str(), status.error().message);
    }
    const auto scheme = known.find(choice.scheme);
    if (scheme) {
      choice.scheme = (*scheme)->name;
      choice.options = read_options(*entry, "options", (*scheme)->options, (*scheme)->name);
    } else {
      entry->refuse("scheme", scheme.error().message);
    }
    reader->note(entry->finish());
    schemes.push_back(std::move(choice));
  }
  parent.note(reader->finish());
  return schemes;
}

std::optional<std::uint64_t> optional_count(ObjectReader& reader, const char* key) {
  if (!has_member(reader, key)) return std::nullopt;
  return reader.count(key);
}

void read_size(ObjectReader& parent, RuleMatch& match) {
  std::optional<ObjectReader> reader = parent.optional_object("size");
  if (!reader) return;
  match.min_elements = optional_count(*reader, "min_elements");
  match.max_elements = optional_count(*reader, "max_elements");
  match.min_bytes = optional_count(*reader, "min_bytes");
  match.max_bytes = optional_count(*reader, "max_bytes");
  const auto is_empty = [](const auto& least, const auto& most) {
    return least && most && *least > *most;
  };
  parent.note(reader->finish());
  if (!match.has_size()) parent.refuse("size", "none is given");
  if (is_empty(match.min_elements, match.max_elements) ||
      is_empty(match.min_bytes, match.max_bytes)) {
    parent.refuse("size", "the least is larger than the most");
  }
}

RuleMatch read_match(ObjectReader& reader) {
  RuleMatch match;
  if (has_member(reader, "name")) match.name = reader.string("name");
  match.kinds = some_strings(reader, "kind");
  for (const std::string& name : some_strings(reader, "type")) {
    const auto found =
        std::ranges::find(rule_types, name, [](ElementType type) { return to_string(type); });
    if (found == rule_types.end()) {
      reader.refuse("type", fmt::format("'{}' is none of the types {}", name, rule_type_names()));
      break;
    }
    match.types.push_back(*found);
  }
  read_size(reader, match);
  if (std::optional<ObjectReader> subgraph = reader.optional_object("subgraph")) {
    match.from = some_strings(*subgraph, "from");
    match.to = some_strings(*subgraph, "to");
    reader.note(subgraph->finish());
    if (match.from.empty() && match.to.empty()) {
      reader.refuse("subgraph", "neither 'from' nor 'to' is given");
    }
  }
  return match;
}

// The table of the scheme that a rule's options are of.
Expected<const SchemeEntry*> scheme_of_rule(const std::vector<SchemeChoice>& schemes,
                                            const std::vector<std::string>& names,
                                            const SchemeTable& known) {
  if (names.size() != 1) {
    return fail(ErrorCode::usage, "options go with one scheme, which they are of");
  }
  const auto own = std::ranges::find(schemes, names[0], &SchemeChoice::name);
  return known.find(own == schemes.end() ? names[0] : own->scheme);
}

RecipeRule read_rule(ObjectReader& reader, const std::vector<SchemeChoice>& schemes,
                     const SchemeTable& known) {
  RecipeRule rule;
  if (std::optional<ObjectReader> match = reader.optional_object("match")) {
    rule.match = read_match(*match);
    reader.note(match->finish());
  }
  if (!has_member(reader, "scheme")) (void)reader.string("scheme");  // says that it is missing
  rule.schemes = some_strings(reader, "scheme");
  if (rule.schemes == std::vector<std::string>{"float"}) rule.schemes.clear();
  if (has_member(reader, "options")) {
    const auto scheme = scheme_of_rule(schemes, rule.schemes, known);
    if (scheme) {
      rule.options = read_options(reader, "options", (*scheme)->options, (*scheme)->name);
    } else {
      reader.refuse("options", scheme.error().message);
    }
  }
  if (has_member(reader, "may_match_nothing")) {
    rule.may_match_nothing = reader.boolean("may_match_nothing");
  }
  return rule;
}

Expected<std::vector<RecipeRule>> read_rules(ObjectReader& parent,
                                             const std::vector<SchemeChoice>& schemes,
                                             const SchemeTable& known) {
  std::vector<RecipeRule> rules;
  if (!has_member(parent, "rules")) return rules;
  for (ObjectReader& reader : parent.objects("rules")) {
    rules.push_back(read_rule(reader, schemes, known));
    auto status = reader.finish();
    if (status) continue;
    Error error = std::move(status).error();
    error.message = fmt::format("rule {}: {}", rules.size(), error.message);
    return fail(std::move(error));
  }
  return rules;
}

std::optional<double> read_target_bits(ObjectReader& reader) {
  if (!has_member(reader, "target_bits")) return std::nullopt;
  const double bits = reader.real("target_bits");
  if (const auto why = refusal_of_target_bits(bits)) reader.refuse("target_bits", *why);
  return bits;
}

// --- Printing ---

Json list_or_one(const std::vector<std::string>& strings) {
  return strings.size() == 1 ? Json(strings[0]) : Json(strings);
}

Json to_json(const OptionValues& values) {
  Json json = Json::object();
  for (const auto& [key, value] : values) {
    json[key] = std::visit([](const auto& held) { return Json(held); }, value);
  }
  return json;
}

Json to_json(const RuleMatch& match) {
  Json json = Json::object();
  if (match.name) json["name"] = *match.name;
  if (!match.kinds.empty()) json["kind"] = list_or_one(match.kinds);
  if (!match.types.empty()) {
    std::vector<std::string> types;
    types.reserve(match.types.size());
    for (const ElementType type : match.types) types.emplace_back(to_string(type));
    json["type"] = list_or_one(types);
  }
  for (const auto& [key, count] :
       {std::pair("min_elements", match.min_elements),
        std::pair("max_elements", match.max_elements), std::pair("min_bytes", match.min_bytes),
        std::pair("max_bytes", match.max_bytes)}) {
    if (count) json["size"][key] = *count;
  }
  if (!match.from.empty()) json["subgraph"]["from"] = list_or_one(match.from);
  if (!match.to.empty()) json["subgraph"]["to"] = list_or_one(match.to);
  return json;
}

Json to_json(const RecipeRule& rule) {
  Json json = Json::object();
  if (rule.match != RuleMatch{}) json["match"] = to_json(rule.match);
  json["scheme"] = rule.schemes.empty() ? Json("float") : list_or_one(rule.schemes);
  if (!rule.options.empty()) json["options"] = to_json(rule.options);
  if (rule.may_match_nothing) json["may_match_nothing"] = true;
  return json;
}

}  // namespace

std::string print_recipe(const Recipe& recipe) {
  Json json{{"format", recipe_format}, {"version", recipe_version}};
  if (!recipe.description.empty()) json["description"] = recipe.description;
  Json schemes = Json::object();
  for (const SchemeChoice& choice : recipe.schemes) {
    Json& entry = schemes[choice.name] = {{"scheme", choice.scheme}};
    if (!choice.options.empty()) entry["options"] = to_json(choice.options);
  }
  json["schemes"] = std::move(schemes);
  for (const RecipeRule& rule : recipe.rules) json["rules"].push_back(to_json(rule));
  if (!recipe.model.empty()) json["model"] = to_json(recipe.model);
  if (!recipe.gain.empty()) json["gain"] = recipe.gain;
  if (!recipe.hardware.empty()) json["hardware"] = recipe.hardware;
  if (!recipe.policy.empty()) json["policy"] = recipe.policy;
  if (recipe.target_bits) json["target_bits"] = *recipe.target_bits;
  if (!recipe.include.empty()) json["include"] = recipe.include;
  if (!recipe.exclude.empty()) json["exclude"] = recipe.exclude;
  if (recipe.non_finite == NonFinitePolicy::leave_float) json["non_finite"] = "leave";
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string print_match(const RuleMatch& match) {
  return to_json(match).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Expected<Recipe> parse_recipe(std::string_view text, const SchemeTable& schemes) {
  QUADRANT_TRY(const nlohmann::json document, parse_json(text));
  ObjectReader reader(document, "$");
  reader.check_format(recipe_format, recipe_version);
  Recipe recipe;
  recipe.description = optional_string(reader, "description");
  recipe.schemes = read_schemes(reader, schemes);
  recipe.model = read_options(reader, "model", recipe_model_options(), "model");
  recipe.gain = optional_word(reader, "gain", recipe_gains());
  recipe.hardware = optional_string(reader, "hardware");
  if (has_member(reader, "hardware") && recipe.hardware.empty()) {
    reader.refuse("hardware", "an empty name");
  }
  recipe.policy = optional_word(reader, "policy", recipe_policies());
  recipe.target_bits = read_target_bits(reader);
  recipe.include = string_or_strings(reader, "include");
  recipe.exclude = string_or_strings(reader, "exclude");
  if (optional_word(reader, "non_finite", non_finite_words) == "leave") {
    recipe.non_finite = NonFinitePolicy::leave_float;
  }
  (void)has_member(reader, "rules");
  QUADRANT_CHECK(reader.finish());
  QUADRANT_TRY(recipe.rules, read_rules(reader, recipe.schemes, schemes));
  QUADRANT_CHECK(reader.finish());
  if (auto status = check(recipe, schemes); !status) {
    return fail(ErrorCode::invalid_model, std::move(status).error().message);
  }
  return recipe;
}

}  // namespace quadrant::inline v0
