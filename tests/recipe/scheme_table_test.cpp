#include "quadrant/recipe/scheme_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "quadrant/recipe/recipe.hpp"
#include "recipe/text.hpp"

namespace quadrant {
namespace {

using test::mentions;

std::span<const OptionSpec> width_option() {
  static const std::array table{OptionSpec{.key = "width",
                                           .kind = OptionSpec::Kind::integer,
                                           .summary = "bits of a code",
                                           .numbers = {4, 8},
                                           .fallback = "8"}};
  return table;
}

// weight_only, with one option of another name.
Expected<Registry> make_narrow(const OptionValues& values, const SchemeData&) {
  QUADRANT_CHECK(check_options(width_option(), values, "narrow"));
  WeightOnlyOptions options;
  if (const auto* width = given<std::int64_t>(values, "width")) {
    options.bits = static_cast<int>(*width);
  }
  return weight_only_registry(options);
}

struct WeightOnlyOfNothing final : WeightOnly {
  explicit WeightOnlyOfNothing(const SchemeData& known) : WeightOnly(known.weights("int8")) {}
};

SchemeEntry narrow() {
  return {.name = "narrow",
          .summary = "a test's",
          .gain = "bytes",
          .options = width_option(),
          .make = make_narrow};
}

std::string refused(const SchemeEntry& entry) {
  SchemeTable schemes;
  const auto added = schemes.add(entry);
  REQUIRE_FALSE(added.has_value());
  CHECK(added.error().code == ErrorCode::usage);
  CHECK(schemes.all().size() == 2);
  return added.error().message;
}

constexpr std::string_view recipe_text = R"({"format": "quadrant.recipe", "version": 1,
  "schemes": {"thin": {"scheme": "narrow", "options": {"width": 4}}},
  "rules": [{"match": {"name": "head"}, "scheme": "narrow"}]})";

TEST_CASE("a scheme of one's own is named by recipes and choices") {
  SchemeTable schemes;
  REQUIRE(schemes.add(narrow()).has_value());
  CHECK(schemes.all().size() == 3);
  CHECK(schemes.find("narrow").value()->summary == "a test's");

  const auto recipe = parse_recipe(recipe_text, schemes);
  REQUIRE_MESSAGE(recipe.has_value(), recipe.error().message);
  CHECK(recipe->schemes[0].options == OptionValues{{"width", std::int64_t{4}}});
  CHECK(parse_recipe(print_recipe(*recipe), schemes) == *recipe);
  const auto used = schemes_of(*recipe, schemes);
  REQUIRE(used.has_value());
  CHECK(used->all.size() == 2);
  const auto registry = make_registry(used->all, {}, schemes);
  REQUIRE(registry.has_value());

  CHECK(parse_scheme_choice("n=narrow,width=4", schemes)->options.size() == 1);
  const auto typo = parse_scheme_choice("n=narrow,widht=4", schemes);
  REQUIRE_FALSE(typo.has_value());
  CHECK(mentions(typo.error().message, "did you mean 'width'"));
}

TEST_CASE("the table is a value: others do not know the scheme") {
  SchemeTable schemes;
  REQUIRE(schemes.add(narrow()).has_value());
  CHECK_FALSE(find_scheme("narrow").has_value());
  CHECK_FALSE(SchemeTable().find("narrow").has_value());
  const auto recipe = parse_recipe(recipe_text);
  REQUIRE_FALSE(recipe.has_value());
  CHECK(mentions(recipe.error().message, "no scheme 'narrow'"));
  CHECK(mentions(SchemeTable(schemes).find("narow").error().message, "did you mean 'narrow'"));
}

TEST_CASE("the schema of recipes has its options") {
  SchemeTable schemes;
  REQUIRE(schemes.add(narrow()).has_value());
  CHECK(mentions(print_recipe_schema(schemes), R"("width": {)"));
  CHECK_FALSE(mentions(print_recipe_schema(), R"("width": {)"));
  // A name without `_` is the same in options, and words of an enum are different ones.
  const std::string schema = print_recipe_schema(schemes);
  const std::size_t first = schema.find(R"("narrow")");
  REQUIRE(first != std::string::npos);
  CHECK_FALSE(mentions(schema.substr(first, 40), R"("narrow",)"));
}

TEST_CASE("what the table cannot serve is refused when it is added") {
  const auto with = [](auto change) {
    SchemeEntry entry = narrow();
    change(entry);
    return entry;
  };
  const auto named = [&](std::string_view name) {
    return with([&](SchemeEntry& entry) { entry.name = name; });
  };
  for (const char* const name : {"", "Narrow", "two words", "2bits", "a-b"}) {
    CAPTURE(name);
    CHECK(mentions(refused(named(name)), "no name for a scheme"));
  }
  for (const char* const name : {"weight_only", "float", "presets"}) {
    CAPTURE(name);
    CHECK(mentions(refused(named(name)), name));
  }
  for (const char* const summary : {"", " ", "two\nlines"}) {
    CHECK(mentions(refused(with([&](SchemeEntry& entry) { entry.summary = summary; })), "summary"));
  }
  CHECK(mentions(refused(with([](SchemeEntry& entry) { entry.gain = "byte"; })), "'bytes'"));
  CHECK(mentions(refused(with([](SchemeEntry& entry) { entry.gain = ""; })), "no gain"));
  CHECK(mentions(refused(with([](SchemeEntry& entry) { entry.make = nullptr; })), "'make'"));
  CHECK(mentions(refused(with([](SchemeEntry& entry) {
                   entry.make = [](const OptionValues&, const SchemeData&) -> Expected<Registry> {
                     return fail(ErrorCode::usage, "not today");
                   };
                 })),
                 "scheme narrow: not today"));

  const std::array twice{OptionSpec{.key = "side"}, OptionSpec{.key = "symmetry",
                                                               .kind = OptionSpec::Kind::word,
                                                               .words = {{"side"}, {"middle"}},
                                                               .words_are_flags = true}};
  CHECK(mentions(refused(with([&](SchemeEntry& entry) { entry.options = twice; })),
                 "two of its options are called 'side'"));
  const std::array turned{twice[1], twice[0]};
  CHECK(mentions(refused(with([&](SchemeEntry& entry) { entry.options = turned; })),
                 "two of its options are called 'side'"));
  const std::array both{twice[1], OptionSpec{.key = "other",
                                             .kind = OptionSpec::Kind::word,
                                             .words = {{"top"}, {"side"}},
                                             .words_are_flags = true}};
  CHECK(mentions(refused(with([&](SchemeEntry& entry) { entry.options = both; })),
                 "two of its options are called 'side'"));
  using Kind = OptionSpec::Kind;
  for (const auto& [option, what] :
       {std::pair(OptionSpec{.key = "x", .kind = Kind::word, .summary = "X"}, "no words"),
        std::pair(OptionSpec{.key = "x", .kind = Kind::real, .summary = "X", .least = 2, .most = 1},
                  "a range without numbers"),
        std::pair(OptionSpec{.key = "x",
                             .kind = Kind::integer,
                             .summary = "X",
                             .least = 2,
                             .most = 8,
                             .fallback = "99"},
                  "a default that it does not take"),
        std::pair(OptionSpec{.key = "x",
                             .kind = Kind::word,
                             .summary = "X",
                             .words = {{"a"}, {"b"}},
                             .fallback = "c"},
                  "a default that it does not take")}) {
    CAPTURE(what);
    const std::array table{option};
    CHECK(mentions(refused(with([&](SchemeEntry& entry) { entry.options = table; })), what));
  }
  const std::array same{OptionSpec{.key = "side"}, OptionSpec{.key = "side"}};
  CHECK(mentions(refused(with([&](SchemeEntry& entry) { entry.options = same; })), "'side'"));
  const std::array dashed{OptionSpec{.key = "a-b"}};
  CHECK(mentions(refused(with([&](SchemeEntry& entry) { entry.options = dashed; })), "'a-b'"));

  SchemeTable schemes;
  REQUIRE(schemes.add(narrow()).has_value());
  CHECK_FALSE(schemes.add(narrow()).has_value());
}

TEST_CASE("options that would be called as another scheme's are refused") {
  // `block-size` is weight_only's, `narrow-width` that of the scheme narrow.
  const std::array size{OptionSpec{.key = "size"}};
  SchemeEntry block = narrow();
  block.name = "block";
  block.options = size;
  CHECK(mentions(refused(block), "'block-size', as one of weight_only"));

  const std::array wide_width{OptionSpec{.key = "er_width"}};
  SchemeEntry other = narrow();
  other.options = wide_width;
  SchemeEntry longer = narrow();
  longer.name = "narrow_er";
  SchemeTable schemes;
  REQUIRE(schemes.add(other).has_value());
  const auto added = schemes.add(longer);
  REQUIRE_FALSE(added.has_value());
  CHECK(mentions(added.error().message, "'narrow-er-width', as one of narrow"));
}

TEST_CASE("a row without options is made of the class") {
  const SchemeEntry ranges = scheme_entry<WeightOnlyOfNothing>("of ranges", SchemeInput::ranges);
  CHECK(ranges.name == "weight_only");
  CHECK(ranges.needs_data);
  CHECK_FALSE(ranges.takes_moments);
  const SchemeEntry moments = scheme_entry<WeightOnlyOfNothing>("of moments", SchemeInput::moments);
  CHECK(moments.takes_moments);
  CHECK_FALSE(moments.needs_data);
  CHECK(moments.make({}, {}).has_value());
  CHECK_FALSE(moments.make({{"bits", std::int64_t{4}}}, {}).has_value());
}

}  // namespace
}  // namespace quadrant
