#include <doctest/doctest.h>

#include <string>

#include "model_text.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/encodings.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using test::value_of;

namespace {

std::string golden(const std::string& name) {
  return QUADRANT_SOURCE_DIR "/tests/golden/0.1/" + name;
}

}  // namespace

TEST_CASE("0.1: a model as text") {
  const Graph graph = value_of(read_model(golden("model.qd")));
  const Value w = graph.find_value("w_quantized");
  REQUIRE(!w.is_absent());
  CHECK(to_string(graph.type(w)).find("nf4") != std::string::npos);
  CHECK(test::count_of_kind(graph, "matmul") == 2);
}

TEST_CASE("0.1: a plan") {
  const Plan plan = value_of(read_plan(golden("plan.json")));
  REQUIRE(plan.schemes.size() == 2);
  CHECK(plan.schemes[0].name == "int4-block32");
  CHECK(plan.schemes[1].name == "int8");
  REQUIRE(plan.values.size() == 2);
  CHECK(plan.values[0].value == "v");
  CHECK(plan.values[1].value == "w");
}

TEST_CASE("0.1: a recipe, with all that it may say") {
  const NamedRecipe named = value_of(read_recipe(golden("recipe.json")));
  const Recipe& recipe = named.recipe;
  CHECK(named.label == golden("recipe.json"));
  REQUIRE(recipe.schemes.size() == 2);
  CHECK(std::get<std::int64_t>(recipe.schemes[0].options.at("block_size")) == 16);
  REQUIRE(recipe.rules.size() == 3);
  CHECK(recipe.rules[1].match.min_elements == 4);
  CHECK(recipe.rules[1].match.from == std::vector<std::string>{"x"});
  CHECK(recipe.rules[2].may_match_nothing);
  CHECK(recipe.policy == "optimal");
  CHECK(recipe.exclude == std::vector<std::string>{"^act"});
  CHECK(recipe.non_finite == NonFinitePolicy::leave_float);
  CHECK(check_run({.recipe = named}));
}

TEST_CASE("0.1: statistics") {
  const StatisticsTable table = value_of(read_statistics(golden("statistics.json")));
  CHECK(table.samples == 2);
  REQUIRE(table.find("h") != nullptr);
  CHECK(table.find("h")->histogram.max() == 4.386478424072266F);
  const Graph other = test::parsed("%q: tensor<2xf32> = input()\noutput(%q)\n");
  const auto refused = read_statistics_of(other, golden("statistics.json"));
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::usage);
}

TEST_CASE("0.1: statistics of the second version, which know their model") {
  const StatisticsTable table = value_of(read_statistics(golden("statistics-2.json")));
  CHECK(table.model_hash == 0xDEADBEEF);
  CHECK(table.values == value_of(read_statistics(golden("statistics.json"))).values);
}

TEST_CASE("0.1: second moments") {
  const auto table = std::get<SecondMomentsTable>(value_of(read_moments(golden("moments"))));
  CHECK(table.model == "model.onnx");
  CHECK(table.model_hash == 0xC0FFEE);
  CHECK(table.samples == 3);
  CHECK(table.left == std::vector<LeftAlone>{{"a", "why"}});
  REQUIRE(table.find("w") != nullptr);
  CHECK(value_of(table.load("w"))->mean(0) == std::vector<double>{0.0625, 0.125, 0.125, 0.25});
  REQUIRE(table.find("v") != nullptr);
  CHECK(table.find("v")->count(0) == 2);
  CHECK(value_of(table.load("v"))->mean(0) == std::vector<double>{0.15625, 0.0625, 0.0625, 0.5});
}

// Inputs 1, 2, 3 and 3, -1, 0, on a grid of .25, .5 and 1.
TEST_CASE("0.1: second moments of blocks") {
  const auto table = std::get<SecondMomentsTable>(value_of(read_moments(golden("moments-2"))));
  REQUIRE(table.find("w") != nullptr);
  CHECK(table.find("w")->block() == 2);
  CHECK(table.find("w")->count(0) == 2);
  CHECK(value_of(table.load("w"))->mean(0) ==
        std::vector<double>{0.3125, -0.0625, 0, -0.0625, 0.625, 0, 0, 0, 4.5});
}

TEST_CASE("0.1: what sensitivity measured") {
  const Graph graph = test::parsed(R"(
    %x: tensor<2x4xf32> = input()
    %v: tensor<4x2xf32> = constant() [1.0, -1.0, 0.5, 2.0, -0.75, 0.25, 1.5, -0.5]
    %y: tensor<2x2xf32> = matmul(%x, %v)
    output(%y) {name = "y"}
  )");
  const auto study = value_of(read_sensitivity(golden("sensitivity.json"), graph));
  REQUIRE(study.size() == 2);
  CHECK(study[0].outputs[0].agreement.noise >= study[1].outputs[0].agreement.noise);
}

TEST_CASE("0.1: a machine") {
  const HardwareProfile profile = value_of(read_hardware(golden("hardware.json")));
  CHECK(!profile.name.empty());
  const auto unknown = read_hardware("no such machine");
  REQUIRE(!unknown);
  CHECK(unknown.error().code == ErrorCode::usage);
}

TEST_CASE("0.1: encodings of all three versions of that format") {
  for (const char* const version : {"0.6.1", "1.0.0", "2.0.0"}) {
    CAPTURE(version);
    const EncodingsFile file =
        value_of(read_encodings(golden(std::string("encodings-") + version + ".json"), nullptr));
    CHECK(file.tensors.contains("w"));
    CHECK(file.tensors.contains("x"));
  }
}

TEST_CASE("files of later versions are refused by their version, not by what they say") {
  const test::TemporaryFolder folder;
  const auto later = [&](const char* format) {
    return folder.write("later.json", std::string("{\"format\": \"quadrant.") + format +
                                          "\", \"version\": 99, \"news\": []}");
  };
  const auto is_refused = [&](const auto& result) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::invalid_model);
    CHECK(result.error().message.find("version") != std::string::npos);
    CHECK(result.error().place.file == folder / "later.json");
  };
  is_refused(read_plan(later("plan")));
  is_refused(read_recipe(later("recipe")));
  is_refused(read_statistics(later("statistics")));
  is_refused(read_hardware(later("hardware")));
  const auto text = read_model(folder.write("later.qd", "# quadrant text 99\n"));
  REQUIRE(!text);
  CHECK(text.error().message.find("version 99") != std::string::npos);
  for (const char* const version : {"99999999999999999999", "two", "1x", ""}) {
    CAPTURE(version);
    CHECK(!read_model(folder.write("odd.qd", std::string("# quadrant text ") + version + "\n")));
  }
}
