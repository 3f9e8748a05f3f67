#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "quadrant/recipe/documents.hpp"
#include "recipe/text.hpp"

namespace quadrant {
namespace {

using test::edited;

Plan example_plan() {
  Plan plan;
  plan.schemes = {{"weight_only", "bits=8"}};
  plan.gain_model = "bytes";
  plan.objective = Gain{3072};
  plan.values = {{"dense.weight", "weight_only", "axis=1", Gain{3072}},
                 {"größe \"x\"\n", "weight_only", "axis=0", Gain{-1}}};
  plan.conversions = {{"dense.weight", "axis=1", "float", {"dense", "head"}},
                      {"größe \"x\"\n", "axis=0", "float", {}}};
  plan.shared = {{"axis=1", {"a", "b"}}};
  return plan;
}

// `text` with the first `from` replaced.
Error refused_plan(std::string_view text) {
  const Expected<Plan> plan = parse_plan(text);
  REQUIRE_FALSE(plan.has_value());
  CHECK(plan.error().code == ErrorCode::invalid_model);
  return plan.error();
}

TEST_CASE("a plan reads back as it was") {
  const Expected<Plan> plan = parse_plan(print_plan(example_plan()));
  REQUIRE(plan.has_value());
  CHECK(*plan == example_plan());
  CHECK(print_plan(*plan) == print_plan(example_plan()));
  CHECK(parse_plan(print_plan(Plan{})) == Plan{});
}

TEST_CASE("gains keep all 64 bits") {
  Plan plan = example_plan();
  plan.objective = Gain{std::numeric_limits<std::int64_t>::max()};
  plan.values[0].gain = Gain{std::numeric_limits<std::int64_t>::min()};
  CHECK(parse_plan(print_plan(plan)) == plan);
}

TEST_CASE("the text says what it is, in a fixed order") {
  CHECK(print_plan(Plan{}) ==
        "{\n"
        "  \"format\": \"quadrant.plan\",\n"
        "  \"version\": 2,\n"
        "  \"schemes\": [],\n"
        "  \"gain_model\": \"\",\n"
        "  \"policy\": \"greedy\",\n"
        "  \"objective\": 0,\n"
        "  \"values\": [],\n"
        "  \"conversions\": [],\n"
        "  \"shared\": []\n"
        "}\n");
}

TEST_CASE("a plan says by which policy it was made; one that does not is greedy") {
  Plan plan = example_plan();
  plan.policy = SelectionPolicy::optimal;
  const std::string text = print_plan(plan);
  CHECK(parse_plan(text) == plan);
  plan.policy = SelectionPolicy::greedy;
  CHECK(parse_plan(edited(text, "  \"policy\": \"optimal\",\n", "")) == plan);
  CHECK(refused_plan(edited(text, "\"optimal\"", "\"best\"")).message ==
        "$.policy: 'best' is neither 'greedy' nor 'optimal'");
}

TEST_CASE("what is no plan is refused with its JSON path") {
  const std::string good = print_plan(example_plan());
  const auto message = [&](std::string_view from, std::string_view to) {
    return refused_plan(edited(good, from, to)).message;
  };
  CHECK(message("\"quadrant.plan\"", "\"other\"") ==
        "$.format: expected \"quadrant.plan\", found \"other\"");
  CHECK(message("\"version\": 2", "\"version\": 1") ==
        "$.version: this program reads version 2, the file is of version 1");
  CHECK(message("\"schemes\"", "\"shcemes\"") == "$: 'schemes' is missing; there is \"shcemes\"");
  CHECK(message("\"version\": 2", "\"version\": 2, \"extra\": 0") == "$.extra: unknown key");
  CHECK(message("\"version\": 2", "\"version\": 2, \"a\\nb\": 0") == "$[\"a\\nb\"]: unknown key");
  CHECK(message("\"version\": 2", "\"version\": 2, \"version\": 2") == "$.version: given twice");
  CHECK(message("\"weight_only\"", "null") == "$.schemes[0].name: expected a string, found null");
  CHECK(message("\"gain\": 3072", "\"gain\": \"3072\"") ==
        "$.values[0].gain: expected an integer, found string");
  CHECK(message("\"gain\": -1", "\"gain\": -1, \"gian\": 2") ==
        "$.values[1].gian: unknown key; did you mean 'gain'?");
  CHECK(message("\"head\"", "7") == "$.conversions[0].users[1]: expected a string, found number");
  CHECK(message("\"head\"", "{\"a\": 1}") ==
        "$.conversions[0].users[1]: expected a string, found object");
  CHECK(refused_plan("[]").message == "$: expected an object, found array");
  CHECK(refused_plan("7").message == "$: expected an object, found number");
}

TEST_CASE("numbers that are no 64-bit integers are refused") {
  const std::string good = print_plan(example_plan());
  for (const char* number : {"9223372036854775808", "-9223372036854775809", "1e3", "1.5",
                             "99999999999999999999999999"}) {
    CAPTURE(number);
    CHECK(refused_plan(edited(good, "\"objective\": 3072", std::string("\"objective\": ") + number))
              .message == "$.objective: expected an integer of 64 bits");
  }
  CHECK(refused_plan(edited(good, "3072", "1e400")).message ==
        "not JSON: number overflow parsing '1e400'");
}

TEST_CASE("what is no JSON is refused with its place") {
  const Error error = refused_plan("{\"format\": ]");
  CHECK(error.message.starts_with("not JSON: "));
  CHECK(error.place.offset == 12);
  CHECK(refused_plan("").message.starts_with("not JSON: "));
  CHECK(refused_plan("{} {}").message.starts_with("not JSON: "));
  CHECK(refused_plan("\"\xff\"").message.starts_with("not JSON: "));
}

TEST_CASE("every truncation is refused") {
  const std::string good = print_plan(example_plan());
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(parse_plan(std::string_view(good).substr(0, size)).has_value());
  }
}

TEST_CASE("a document of another kind is called that, however deep it is") {
  const std::string other =
      R"({"format": "quadrant.statistics", "version": 1, "values": [{"a": [[1, [2]]]}]})";
  CHECK(refused_plan(other).message.starts_with(
      R"($.format: expected "quadrant.plan", found "quadrant.statistics")"));
}

TEST_CASE("depth is bounded") {
  const std::string deep(1'000'000, '[');
  std::string place = "$";
  for (int i = 1; i < 64; ++i) place += "[0]";
  CHECK(refused_plan(deep).message == place + ": nested deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(refused_plan(objects).message.ends_with(".a.a.a: nested deeper than 64 levels"));
}

}  // namespace
}  // namespace quadrant
