#include <doctest/doctest.h>

#include <string>

#include "quadrant/report/tables.hpp"
#include "report/json.hpp"
#include "targets/models.hpp"

using namespace quadrant;

namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the tables of a placement") {
  const auto placement = place(models::floating(), {.elements_per_second = 19});
  REQUIRE(placement);
  const std::string text = to_string(*placement);
  CAPTURE(text);
  CHECK(has(text, "  parameters   float\n"));
  CHECK(has(text, "  activations  0 of 4 quantized, not 'x'\n"));
  CHECK(has(text, "  batch        1 (x [1x4])\n"));
  CHECK(has(text, "  float      f32       3        38  152 B\n"));
  CHECK(has(text,
            "  CPU      native                     0    0 B      0 B   0 s         152 B     "
            "  152 B\n"));
  CHECK(has(text,
            "  DSP      converted at load         38  152 B     53 B   2 s         205 B     "
            "   53 B\n"));
  CHECK(has(text,
            "3 of 3 parameters cannot be used, 'w' is the largest; 4 of 4 activations are not "
            "quantized, 'x' is the first\n"));
  CHECK(has(text, "so it would be divided"));
}

TEST_CASE("a model of nothing") {
  const auto placement = place(Graph());
  REQUIRE(placement);
  const std::string text = to_string(*placement);
  CHECK(has(text, "no parameters"));
  CHECK(!has(text, "batch"));
  CHECK(!has(text, "stored as"));
  CHECK(!has(text, "subnets"));
}

TEST_CASE("what is said of accuracy") {
  CHECK(to_string(AccuracyNote{}) == "no noise of quantization");
  CHECK(to_string(AccuracyNote{.noise_in_file = true, .float_may_be_better = true}) ==
        "the file carries the noise of quantization; a float file may be more accurate here");
}

TEST_CASE("as JSON") {
  const Graph graph = models::quantized();
  const auto floating = place(models::floating());
  const auto quantized = place(graph);
  REQUIRE(floating);
  REQUIRE(quantized);
  const Json json = to_json(*quantized, graph);
  CHECK(json["storage"].size() == 3);
  CHECK(json["constants"][1]["granularity"] == "axis");
  CHECK(json["runtimes"][0]["load"]["bytes_written"] == 152);
  CHECK(json["runtimes"][0]["verdict"] == "converted");
  CHECK(!json["runtimes"][0].contains("subnets"));
  CHECK(json["runtimes"][3]["subnets"][0]["nodes"] == Json({"h", "r", "z"}));
  const auto choice =
      choose_file({.bytes = 2, .placement = *floating}, {.bytes = 1, .placement = *quantized});
  REQUIRE(choice);
  CHECK(to_json(*choice)["ship"] == "quantized");
  CHECK(has(to_string(*choice), "  AIP      refused     taken           quantized\n"));
  CHECK(has(to_string(*choice), "  ship: quantized\n  - "));
}
