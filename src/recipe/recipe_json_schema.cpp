// The JSON Schema of recipes, made of the tables that recipes are read by.
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "quadrant/recipe/recipe.hpp"
#include "recipe/recipe_words.hpp"

namespace quadrant::inline v0 {
namespace {

using Schema = nlohmann::ordered_json;

Schema enumeration(std::span<const std::string_view> words) {
  return {{"enum", std::vector<std::string_view>(words.begin(), words.end())}};
}

Schema list_of(Schema item) { return {{"type", "array"}, {"items", std::move(item)}}; }

// One, or a list of one at least.
Schema one_or_some(const Schema& item) {
  Schema list = list_of(item);
  list["minItems"] = 1;
  return {{"anyOf", {item, std::move(list)}}};
}

Schema object_of(Schema properties) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Schema schema_of(const OptionSpec& option) {
  std::vector<std::string_view> words;
  words.reserve(option.words.size());
  for (const OptionWord& word : option.words) words.push_back(word.word);
  switch (option.kind) {
    case OptionSpec::Kind::flag:
      return {{"type", "boolean"}};
    case OptionSpec::Kind::integer:
      if (!option.numbers.empty()) return {{"enum", option.numbers}};
      return {{"type", "integer"},
              {"minimum", static_cast<std::int64_t>(option.least)},
              {"maximum", static_cast<std::int64_t>(option.most)}};
    case OptionSpec::Kind::real:
      return {{"type", "number"}, {"minimum", option.least}, {"maximum", option.most}};
    case OptionSpec::Kind::word:
      return enumeration(words);
    case OptionSpec::Kind::text:
      return {{"type", "string"}};
    case OptionSpec::Kind::words:
      break;
  }
  return {{"anyOf", {enumeration(words), list_of(enumeration(words))}}};
}

Schema schema_of(std::span<const OptionSpec> options) {
  Schema properties = Schema::object();
  for (const OptionSpec& option : options) {
    Schema& property = properties[std::string(option.key)] = schema_of(option);
    property["description"] = describe(option);
    if (option.fallback.empty()) continue;
    const auto fallback = parse_option(option, option.fallback);
    if (fallback) {
      property["default"] = std::visit([](const auto& held) { return Schema(held); }, *fallback);
    }
  }
  return object_of(std::move(properties));
}

// Which scheme it is decides which options there are.
Schema scheme_choices(const SchemeTable& known) {
  Schema choices = Schema::array();
  for (const SchemeEntry& scheme : known) {
    std::set<std::string> names{std::string(scheme.name), option_of(scheme.name)};
    Schema choice = object_of(
        {{"scheme", {{"enum", std::move(names)}}}, {"options", schema_of(scheme.options)}});
    choice["description"] = scheme.summary;
    choice["required"] = {"scheme"};
    choices.push_back(std::move(choice));
  }
  return {{"oneOf", std::move(choices)}};
}

Schema rule_options(const SchemeTable& known) {
  Schema choices = Schema::array();
  for (const SchemeEntry& scheme : known) choices.push_back(schema_of(scheme.options));
  return {{"description", "Options besides those of the one scheme that is named"},
          {"anyOf", std::move(choices)}};
}

Schema match_schema() {
  const Schema text{{"type", "string"}};
  const Schema count{{"type", "integer"}, {"minimum", 0}};
  std::vector<std::string_view> types;
  types.reserve(rule_types.size());
  for (const ElementType type : rule_types) types.push_back(to_string(type));
  Schema size = object_of({{"min_elements", count},
                           {"max_elements", count},
                           {"min_bytes", count},
                           {"max_bytes", count}});
  size["minProperties"] = 1;
  Schema subgraph = object_of({{"from", one_or_some(text)}, {"to", one_or_some(text)}});
  subgraph["minProperties"] = 1;
  Schema match = object_of({{"name", text},
                            {"kind", one_or_some(text)},
                            {"type", one_or_some(enumeration(types))},
                            {"size", std::move(size)},
                            {"subgraph", std::move(subgraph)}});
  Schema& properties = match["properties"];
  properties["name"]["description"] =
      "Regular expression (RE2), looked for in the names of nodes, the values that they make, and "
      "weights";
  properties["kind"]["description"] = "Operations: the node's, or a reader's of the weight";
  properties["type"]["description"] = "Element types in the float model";
  properties["size"]["description"] = "Of weights, in the float model";
  properties["subgraph"]["description"] =
      "Nodes that are computed from a value of 'from' and that a value of 'to' is computed from";
  return match;
}

Schema rule_schema(const SchemeTable& known) {
  Schema rule = object_of({{"match", match_schema()},
                           {"scheme", one_or_some({{"type", "string"}})},
                           {"options", rule_options(known)},
                           {"may_match_nothing", {{"type", "boolean"}, {"default", false}}}});
  rule["properties"]["scheme"]["description"] =
      "Names of the recipe's schemes, among which selection chooses, or 'float'";
  rule["required"] = {"scheme"};
  return rule;
}

}  // namespace

std::string print_recipe_schema(const SchemeTable& schemes) {
  const Schema text{{"type", "string"}};
  Schema choices{
      {"type", "object"},
      {"description", "What the run chooses from, wherever no rule says otherwise"},
      {"propertyNames",
       {{"pattern", "^[A-Za-z0-9_.-]+$"}, {"maxLength", 100}, {"not", {{"const", "float"}}}}},
      {"additionalProperties", scheme_choices(schemes)},
      {"maxProperties", most_choices}};
  Schema rules = list_of(rule_schema(schemes));
  rules["maxItems"] = most_rules;
  rules["description"] = "The last rule that matches decides";
  const auto texts = [&](const char* description) {
    Schema schema{{"anyOf", {text, list_of(text)}}};
    schema["description"] = description;
    return schema;
  };
  Schema recipe =
      object_of({{"format", {{"const", recipe_format}}},
                 {"version", {{"const", recipe_version}}},
                 {"description", text},
                 {"schemes", std::move(choices)},
                 {"rules", std::move(rules)},
                 {"model", schema_of(recipe_model_options())},
                 {"gain", enumeration(recipe_gains())},
                 {"hardware", {{"type", "string"}, {"minLength", 1}}},
                 {"policy", enumeration(recipe_policies())},
                 {"target_bits",
                  {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", most_target_bits}}},
                 {"include", texts("Quantize only what matches: regular expressions")},
                 {"exclude", texts("Leave what matches in float: stronger than 'include'")},
                 {"non_finite", enumeration(non_finite_words)}});
  recipe["properties"]["model"]["description"] = "Transforms of the float model";
  recipe["properties"]["gain"]["description"] = "The gain model";
  recipe["properties"]["hardware"]["description"] =
      "Hardware profile for the gain 'latency': a name, or a file";
  recipe["properties"]["target_bits"]["description"] = "A budget: bits for each weight";
  recipe["required"] = {"format", "version"};
  Schema document{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                  {"title", "A recipe of quadrant"}};
  document.update(recipe);
  return document.dump(2) + '\n';
}

}  // namespace quadrant::inline v0
