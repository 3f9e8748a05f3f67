#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "quadrant/recipe/recipe.hpp"
#include "recipe/text.hpp"

namespace quadrant {
namespace {

using test::mentions;

std::string recipe_with(const std::string& members) {
  return std::string(R"({"format": "quadrant.recipe", "version": 1)") +
         std::string(members.empty() ? "" : ", ") + members + "}";
}

std::string refused_members(const std::string& members) {
  const auto recipe = parse_recipe(recipe_with(members));
  CAPTURE(members);
  REQUIRE_FALSE(recipe.has_value());
  CHECK(recipe.error().code == ErrorCode::invalid_model);
  return recipe.error().message;
}

std::string refused_rule(const std::string& members) {
  return refused_members(R"("schemes": {"int8": {"scheme": "weight_only"}},
                    "rules": [{"scheme": "int8"}, {)" +
                         members + "}]");
}

Recipe example_recipe() {
  Recipe recipe;
  recipe.description = "größer";
  recipe.schemes = {{"int4", "weight_only", {{"bits", std::int64_t{4}}}},
                    {"int8", "weight_only", {}}};
  RecipeRule everything;
  everything.schemes = {"int4", "int8"};
  RecipeRule head;
  head.match.name = "^lm_head\\.";
  head.match.kinds = {"matmul", "gemm"};
  head.match.types = {ElementType::float32};
  head.match.min_elements = 10;
  head.match.max_bytes = 18446744073709551615U;
  head.match.from = {"x"};
  head.match.to = {"y", "z"};
  head.schemes = {"int8"};
  head.options = {{"clip", std::string("mse")}};
  head.may_match_nothing = true;
  RecipeRule none;
  none.match.name = "";
  recipe.rules = {everything, head, none};
  recipe.gain = "latency";
  recipe.hardware = "laptop.json";
  recipe.policy = "greedy";
  recipe.target_bits = 4.5;
  recipe.include = {"a", "b"};
  recipe.exclude = {"c"};
  recipe.non_finite = NonFinitePolicy::leave_float;
  return recipe;
}

TEST_CASE("a recipe reads back as it was") {
  const auto recipe = parse_recipe(print_recipe(example_recipe()));
  REQUIRE(recipe.has_value());
  CHECK(*recipe == example_recipe());
  CHECK(print_recipe(*recipe) == print_recipe(example_recipe()));
  CHECK(parse_recipe(print_recipe(Recipe{})) == Recipe{});
  Recipe affine;
  affine.schemes = {{"s", "static_affine", {{"percentile", 99.25}, {"quantized_inputs", true}}}};
  affine.model = {{"optimize", std::vector<std::string>{"cle", "bc"}}};
  CHECK(parse_recipe(print_recipe(affine)) == affine);
}

TEST_CASE("one stands for a list of one, and dashes in schemes for underscores") {
  const auto recipe = parse_recipe(recipe_with(
      R"("schemes": {"b": {"scheme": "weight-only"}, "a": {"scheme": "weight_only"}},
         "rules": [{"match": {"kind": ["conv"], "type": "f32"}, "scheme": ["a"]},
                   {"scheme": ["float"]}],
         "include": "x")"));
  REQUIRE(recipe.has_value());
  CHECK(recipe->schemes[0].name == "a");
  CHECK(recipe->schemes[1].scheme == "weight_only");
  CHECK(recipe->rules[0].schemes == std::vector<std::string>{"a"});
  CHECK(recipe->rules[1].schemes.empty());
  CHECK(recipe->include == std::vector<std::string>{"x"});
}

TEST_CASE("presets are recipes, printed as recipes are") {
  CHECK(presets().size() >= 4);
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const auto recipe = parse_recipe(preset.text);
    REQUIRE(recipe.has_value());
    CHECK(print_recipe(*recipe) == preset.text);
    CHECK_FALSE(recipe->description.empty());
    CHECK((*find_preset(preset.name))->text == preset.text);
  }
  const auto unknown = find_preset("int4-blok32");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(mentions(unknown.error().message, "did you mean 'int4-block32'"));
}

TEST_CASE("what is no recipe is refused with its place and near names") {
  CHECK(mentions(refused_members(R"("rule": [])"), "$.rule: unknown key; did you mean 'rules'?"));
  CHECK(mentions(refused_members(R"("gain": "bits")"), "$.gain: 'bits' is none of bytes"));
  CHECK(mentions(refused_members(R"("gain": "byte")"), "did you mean 'bytes'"));
  CHECK(mentions(refused_members(R"("hardware": "x86-64-avx512-vnni")"),
                 "hardware: 'x86-64-avx512-vnni' says what"));
  CHECK(mentions(refused_members(R"("gain": "latency", "hardware": "")"),
                 "$.hardware: an empty name"));
  CHECK(mentions(refused_members(R"("gain": "latency", "hardware": 2)"), "$.hardware"));
  CHECK(mentions(refused_members(R"("policy": "best")"), "$.policy: 'best' is none of"));
  CHECK(mentions(refused_members(R"("target_bits": 0)"), "$.target_bits"));
  CHECK(mentions(refused_members(R"("target_bits": "4.5")"), "$.target_bits"));
  CHECK(mentions(refused_members(R"("target_bits": 100)"),
                 "$.target_bits: expected a number above 0"));
  CHECK(mentions(refused_members(R"("non_finite": "ignore")"), "$.non_finite"));
  CHECK(mentions(refused_members(R"("include": 4)"), "$.include"));
  CHECK(mentions(refused_members("\"exclude\": \"(\""), "exclude: '(': missing"));
  CHECK(mentions(refused_members(R"("model": {"optimise": ["cle"]})"), "did you mean 'optimize'"));
  CHECK(mentions(refused_members(R"("model": {"optimize": ["cl"]})"), "$.model.optimize"));
  CHECK(mentions(refused_members(R"("schemes": [])"), "$.schemes"));
  CHECK(mentions(refused_members(R"("schemes": {"a": {}})"), "$.schemes.a: 'scheme' is missing"));
  CHECK(mentions(refused_members(R"("schemes": {"a": {"scheme": "weight_onyl"}})"),
                 "$.schemes.a.scheme: there is no scheme 'weight_onyl'; did you mean"));
  CHECK(mentions(refused_members(R"("schemes": {"float": {"scheme": "weight_only"}})"), "'float'"));
  CHECK(mentions(refused_members(R"("schemes": {"a": {"scheme": "weight_only", "option": {}}})"),
                 "$.schemes.a.option: unknown key; did you mean 'options'"));
  const auto option = [](const std::string& member) {
    return refused_members(R"("schemes": {"a": {"scheme": "weight_only", "options": {)" + member +
                           "}}}");
  };
  CHECK(mentions(option(R"("block-size": 32)"), "did you mean 'block_size'"));
  CHECK(mentions(option(R"("bits": 3)"), "$.schemes.a.options.bits: expected 8 or 4, found '3'"));
  CHECK(mentions(option(R"("bits": "4")"), "$.schemes.a.options.bits: expected an integer"));
  CHECK(mentions(option(R"("clip": "msee")"), "did you mean 'mse'"));
  CHECK(
      mentions(option(R"("granularity": "tensor", "block_size": 8)"), "'a': `block_size` is for"));
  CHECK_FALSE(parse_recipe("[]").has_value());
  CHECK_FALSE(parse_recipe("").has_value());
  CHECK(mentions(parse_recipe(R"({"format": "quadrant.plan", "version": 2})").error().message,
                 "$.format"));
}

TEST_CASE("mistakes in rules name the rule and the key") {
  CHECK(mentions(refused_rule(""), "rule 2: $.rules[1]: 'scheme' is missing"));
  CHECK(mentions(refused_rule(R"("scheme": [])"), "rule 2: $.rules[1].scheme: an empty list"));
  CHECK(mentions(refused_rule(R"("scheme": "int9")"), "rule 2: scheme: there is no scheme 'int9'"));
  CHECK(mentions(refused_rule(R"("scheme": "int9")"), "did you mean 'int8'"));
  CHECK(mentions(refused_rule(R"("scheme": "other")"), "under 'schemes'; there are: float, "));
  CHECK(mentions(refused_rule(R"("scheme": ["float", "int8"])"), "rule 2: scheme: "));
  CHECK(mentions(refused_rule(R"("scheme": "int8", "mach": {})"), "did you mean 'match'"));
  const auto match = [](const std::string& member) {
    return refused_rule(R"("scheme": "int8", "match": {)" + member + "}");
  };
  CHECK(mentions(match(R"("nam": "x")"), "$.rules[1].match.nam: unknown key; did you mean 'name'"));
  CHECK(mentions(match(R"("name": "[")"), "rule 2: match.name: '[': missing ]"));
  CHECK(mentions(match("\"name\": \"(?=x)\""), "rule 2: match.name: "));
  CHECK(mentions(match("\"name\": \"(a{1000}){1000}\""), "rule 2: match.name: "));
  CHECK(mentions(match(R"("kind": [])"), "$.rules[1].match.kind: an empty list"));
  CHECK(mentions(match(R"("kind": [1])"), "$.rules[1].match.kind[0]"));
  CHECK(mentions(match(R"("type": "float32")"), "none of the types f32, f16, bf16, f64"));
  CHECK(mentions(match(R"("size": {})"), "$.rules[1].match.size: none is given"));
  CHECK(mentions(match(R"("size": {"min_elements": -1})"), "size.min_elements"));
  CHECK(mentions(match(R"("size": {"min_elements": 2, "max_elements": 1})"), "larger"));
  CHECK(mentions(match(R"("size": {"elements": 2})"), "$.rules[1].match.size.elements: unknown"));
  CHECK(mentions(match(R"("subgraph": {})"), "neither 'from' nor 'to'"));
  CHECK(mentions(match(R"("subgraph": {"from": "x", "till": "y"})"), "subgraph.till: unknown key"));
  CHECK(mentions(refused_rule(R"("scheme": "float", "options": {"bits": 4})"), "one scheme"));
  CHECK(mentions(refused_rule(R"("scheme": "int8", "options": {"bit": 4})"),
                 "rule 2: $.rules[1].options.bit: weight_only has no option 'bit'; did you mean"));
  CHECK(mentions(
      refused_rule(R"("scheme": "int8", "options": {"asymmetric": true})"),
      R"(weight_only has no option 'asymmetric'; it is said by 'symmetry': "asymmetric")"));
  CHECK(mentions(refused_rule(R"("scheme": "int8", "options": {"block_size": 1})"), "from 2 to"));
}

TEST_CASE("limits hold") {
  std::string rules = R"({"scheme": "float"})";
  for (std::size_t i = 0; i < most_rules; ++i) rules += R"(,{"scheme": "float"})";
  CHECK(mentions(refused_members("\"rules\": [" + rules + "]"), "4097 rules: there can be 4096"));
  std::string schemes;
  for (std::size_t i = 0; i <= most_choices; ++i) {
    schemes += (i == 0 ? "\"s" : ",\"s") + std::to_string(i) + R"(": {"scheme": "weight_only"})";
  }
  CHECK(mentions(refused_members("\"schemes\": {" + schemes + "}"), "65 schemes"));
  const std::string deep = std::string(70, '[') + std::string(70, ']');
  CHECK(mentions(
      refused_members(R"("rules": [{"match": {"kind": )" + deep + R"(}, "scheme": "float"}])"),
      "nested deeper"));
}

// Cuts, and bytes that are changed: nothing but errors, and recipes that read back the same.
TEST_CASE("damaged recipes are refused or understood, never half") {
  const std::string text = print_recipe(example_recipe());
  std::mt19937 random(7);
  int accepted = 0;
  const auto check_text = [&](const std::string& damaged) {
    const auto recipe = parse_recipe(damaged);
    if (!recipe) {
      CHECK_FALSE(recipe.error().message.empty());
      return;
    }
    ++accepted;
    CHECK(parse_recipe(print_recipe(*recipe)) == *recipe);
  };
  for (std::size_t size = 0; size < text.size(); size += 3) check_text(text.substr(0, size));
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(32 + random() % 95);
    check_text(damaged);
  }
  CHECK(accepted > 20);
}

TEST_CASE("the published schema is the one that is made of the tables") {
  std::ifstream file(QUADRANT_SOURCE_DIR "/docs/recipe.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  CHECK_MESSAGE(text.str() == print_recipe_schema(),
                "quadrant recipe --schema > docs/recipe.schema.json");
}

}  // namespace
}  // namespace quadrant
