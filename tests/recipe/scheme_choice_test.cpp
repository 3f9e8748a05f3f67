#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quadrant/recipe/scheme_table.hpp"
#include "recipe/text.hpp"

namespace quadrant {
namespace {

using test::mentions;

std::string refused_choice(std::string_view text) {
  const auto choice = parse_scheme_choice(text);
  CAPTURE(text);
  REQUIRE_FALSE(choice.has_value());
  CHECK(choice.error().code == ErrorCode::usage);
  return choice.error().message;
}

TEST_CASE("a choice is a name, a scheme, and options as on the command line") {
  const auto choice = parse_scheme_choice("small=weight-only,bits=4,block-size=32,asymmetric");
  REQUIRE(choice.has_value());
  CHECK(choice->name == "small");
  CHECK(choice->scheme == "weight_only");
  CHECK(choice->options == OptionValues{{"bits", std::int64_t{4}},
                                        {"block_size", std::int64_t{32}},
                                        {"symmetry", std::string("asymmetric")}});
  CHECK(parse_scheme_choice(to_string(*choice)) == *choice);
  CHECK(parse_scheme_choice("x=weight_only")->options.empty());

  const auto affine =
      parse_scheme_choice("x=static-affine,quantized-inputs,percentile=99.5,use_enhanced");
  REQUIRE(affine.has_value());
  CHECK(affine->options == OptionValues{{"quantized_inputs", true},
                                        {"percentile", 99.5},
                                        {"use_enhanced", std::string("both")}});
  CHECK(parse_scheme_choice(to_string(*affine)) == *affine);
}

TEST_CASE("what is wrong with a choice is said with near names") {
  CHECK(mentions(refused_choice("int4=weight-onyl"), "did you mean 'weight_only'"));
  CHECK(mentions(refused_choice("int4=weight-only,bist=4"),
                 "'int4': weight_only has no option 'bist'"));
  CHECK(mentions(refused_choice("int4=weight-only,bist=4"), "did you mean 'bits'"));
  CHECK(mentions(refused_choice("int4=weight-only,bits=3"), "expected 8 or 4, found '3'"));
  CHECK(mentions(refused_choice("int4=weight-only,bits=four"), "expected 8 or 4, found 'four'"));
  CHECK(mentions(refused_choice("int4=weight-only,bits"), "bits=VALUE, 8 or 4"));
  CHECK(mentions(refused_choice("int4=weight-only,bits=4,bits=8"), "given twice"));
  CHECK(mentions(refused_choice("int4=weight-only,symmetric,asymmetric"), "given twice"));
  CHECK(mentions(refused_choice("int4=weight-only,clip=msee"), "did you mean 'mse'"));
  CHECK(mentions(refused_choice("int4=weight-only,block-size=1"), "an integer from 2 to"));
  CHECK(mentions(refused_choice("int4=weight-only,granularity=tensor,block-size=8"),
                 "`block_size` is for `granularity` block, not tensor"));
  CHECK(mentions(refused_choice("x=static-affine,percentile=nan"), "a number from 50 to 100"));
  CHECK(mentions(refused_choice("x=static-affine,quantized-inputs=yes"), "true or false"));
  CHECK(mentions(refused_choice("float=weight-only"), "'float'"));
  for (const char* const name : {"", "a b", "a+b", "ä", "a/b"}) {
    CHECK(mentions(refused_choice(std::string(name) + "=weight-only"), "is no name"));
  }
}

TEST_CASE("choices become one registry, each under its name") {
  const std::vector choices{*parse_scheme_choice("small=weight-only,bits=4"),
                            *parse_scheme_choice("int8=weight-only"),
                            *parse_scheme_choice("codes=static-affine")};
  const auto registry = make_registry(choices);
  REQUIRE(registry.has_value());
  CHECK(registry->names() == "codes+int8+small");
  CHECK(registry->scheme(2).describe().starts_with("bits=4 "));
  const std::vector twice{choices[0], choices[0]};
  CHECK_FALSE(make_registry(twice).has_value());
  CHECK_FALSE(make_registry({}).has_value());
  CHECK_FALSE(make_registry(std::vector(most_choices + 1, choices[0])).has_value());
}

// What the table says is the default must be what the scheme does without the option.
TEST_CASE("a default that is given explicitly changes nothing, another value does") {
  for (const SchemeEntry& scheme : known_schemes()) {
    const auto describe = [&](const OptionValues& options) {
      const auto made = scheme.make(options, {});
      REQUIRE(made.has_value());
      return made->scheme().describe();
    };
    const std::string plain = describe({});
    for (const OptionSpec& option : scheme.options) {
      if (option.fallback.empty()) continue;
      CAPTURE(option.key);
      const auto value = parse_option(option, option.fallback);
      REQUIRE(value.has_value());
      CHECK(describe({{std::string(option.key), *value}}) == plain);
    }
  }
}

}  // namespace
}  // namespace quadrant
