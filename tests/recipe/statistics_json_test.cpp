#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "quadrant/recipe/documents.hpp"
#include "recipe/text.hpp"
#include "tensor_values.hpp"

namespace quadrant {
namespace {

using test::edited;
using test::floats;

constexpr float infinity = std::numeric_limits<float>::infinity();

TensorStatistics statistics_of(const Tensor& tensor, std::optional<std::int64_t> axis = {}) {
  TensorStatistics statistics(axis);
  statistics.add(tensor);
  return statistics;
}

// The header's example.
StatisticsTable small() {
  StatisticsTable table{"model.onnx", 1, {}, 0x00C0FFEE00C0FFEE};
  table.values.emplace(
      "x", statistics_of(floats({11}, {-0.5F, -0.5F, -0.5F, 0, 0, 0.125F, 513.0F / 4096, 1.75F,
                                       1.75F, 1.75F, 1.75F})));
  return table;
}

const std::string small_text =
    "{\n"
    "  \"format\": \"quadrant.statistics\",\n"
    "  \"version\": 2,\n"
    "  \"model\": \"model.onnx\",\n"
    "  \"model_hash\": \"00c0ffee00c0ffee\",\n"
    "  \"samples\": 1,\n"
    "  \"values\": [\n"
    "    "
    "{\"value\":\"x\",\"samples\":1,\"min\":-0.5,\"max\":1.75,\"sum\":\"0xb802p-13\",\"zeros\":2,"
    "\"nan\":0,\"positive_infinity\":0,\"negative_infinity\":0,\"negative\":[[2048,3]],"
    "\"positive\":[[512,1,1],[7168,4]]}\n"
    "  ]\n"
    "}\n";

// All that can be in a table.
StatisticsTable large() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(6000);
  for (float& value : values) value = normal(random);
  StatisticsTable table{"größe \"x\"\n", 3, {}};
  TensorStatistics channels =
      statistics_of(Tensor::from_values<float>(ElementType::float32, {20, 3, 100}, values), 1);
  channels.add(Tensor::from_values<float>(ElementType::float32, {10, 3, 200}, values));
  table.values.emplace("channels", channels);
  table.values.emplace("varying", statistics_of(floats(Shape::scalar(), {1}), -1));
  table.values.emplace("none", TensorStatistics());
  table.values.emplace("no channels", TensorStatistics(2));
  table.values.emplace("", statistics_of(floats({1}, {0.1F})));
  table.values.emplace("ünusual\n", statistics_of(floats({3}, {3e38F, -1e-45F, 0.3F}), 0));
  table.values.emplace("bad",
                       statistics_of(floats({1, 4}, {std::nanf(""), infinity, -infinity, 2}), 1));
  return table;
}

// `text` with the first `from` replaced.
std::string refused_statistics(std::string_view text) {
  const Expected<StatisticsTable> table = parse_statistics(text);
  REQUIRE_FALSE(table.has_value());
  CHECK(table.error().code == ErrorCode::invalid_model);
  return table.error().message;
}

TEST_CASE("statistics are printed as documented") {
  CHECK(print_statistics(small()) == small_text);
  CHECK(print_statistics({}) ==
        "{\n"
        "  \"format\": \"quadrant.statistics\",\n"
        "  \"version\": 2,\n"
        "  \"model\": \"\",\n"
        "  \"samples\": 0,\n"
        "  \"values\": []\n"
        "}\n");
}

TEST_CASE("statistics read back as they were") {
  for (const StatisticsTable& table : {StatisticsTable{}, small(), large()}) {
    const std::string text = print_statistics(table);
    const Expected<StatisticsTable> again = parse_statistics(text);
    REQUIRE_MESSAGE(again.has_value(), (again ? "" : to_string(again.error())));
    CHECK(*again == table);
    CHECK(print_statistics(*again) == text);
  }
}

TEST_CASE("the first version, which knew no hashes, is read") {
  const std::string first = edited(edited(small_text, "\"version\": 2", "\"version\": 1"),
                                   "  \"model_hash\": \"00c0ffee00c0ffee\",\n", "");
  const Expected<StatisticsTable> table = parse_statistics(first);
  REQUIRE(table);
  CHECK(table->model_hash == 0);
  CHECK(table->values == small().values);
}

TEST_CASE("statistics that were saved can be added to") {
  StatisticsTable expected = large();
  expected.merge(large());
  StatisticsTable table = parse_statistics(print_statistics(large())).value();
  table.merge(parse_statistics(print_statistics(large())).value());
  CHECK(table == expected);
}

TEST_CASE("what are no statistics is refused with its JSON path") {
  const auto message = [&](std::string_view from, std::string_view to) {
    return refused_statistics(edited(small_text, from, to));
  };
  CHECK(message("quadrant.statistics", "quadrant.plan") ==
        "$.format: expected \"quadrant.statistics\", found \"quadrant.plan\"");
  CHECK(message("\"version\": 2", "\"version\": 3") ==
        "$.version: this program reads version 2, the file is of version 3");
  CHECK(message("\"samples\": 1", "\"samples\": -1") ==
        "$.samples: expected an integer that is not negative, found -1");
  CHECK(message("\"zeros\":2,", "") == "$.values[0]: 'zeros' is missing");
  CHECK(message("\"zeros\":2", "\"zeros\":2,\"zeroes\":2") ==
        "$.values[0].zeroes: unknown key; did you mean 'zeros'?");
  CHECK(message("\"zeros\":2", "\"zeros\":2.5") ==
        "$.values[0].zeros: expected an integer that is not negative, found 2.5");
  CHECK(message("\"min\":-0.5", "\"min\":\"-0.5\"") ==
        "$.values[0].min: expected a number, found string");
  CHECK(message("\"max\":1.75", "\"max\":1e39") ==
        "$.values[0].max: a number beyond float32's range");
  CHECK(message("0xb802p-13", "5.75") == "$.values[0].sum: expected a number such as \"-0x3p-1\"");
  CHECK(message("[[2048,3]]", "[2048,3]") ==
        "$.values[0].negative[0]: expected an array, found number");
  CHECK(message("[2048,3]", "[2048,null]") ==
        "$.values[0].negative[0][1]: expected an integer that is not negative, found null");
  CHECK(message("[2048,3]", "[2048,[3]]") ==
        "$.values[0].negative[0][1]: expected an integer that is not negative, found array");
  CHECK(refused_statistics("[]") == "$: expected an object, found array");
  CHECK(refused_statistics("").starts_with("not JSON"));
  CHECK(message("\n  ]", ",{\"value\":\"x\"}\n  ]") ==
        "$.values[1].value: this value is there already");
}

TEST_CASE("bins that are none are refused") {
  for (const char* runs : {"[[512,1,1],[513,4]]", "[[7168,4],[512,1,1]]", "[[8192,1]]",
                           "[[8191,1,1]]", "[[]]", "[[512]]", "[[18446744073709551615,1]]"}) {
    CAPTURE(std::string(runs));
    CHECK(
        refused_statistics(edited(small_text, "[[512,1,1],[7168,4]]", runs)) ==
        "$.values[0].positive: expected runs of bins: [first, count, ...], in ascending order and "
        "below 8192");
  }
}

TEST_CASE("numbers that no data give are refused") {
  const auto message = [&](std::string_view from, std::string_view to) {
    return refused_statistics(edited(small_text, from, to));
  };
  CHECK(message("[7168,4]", "[7169,4]") ==
        "$.values[0].min: values from -0.5 to 1.75 do not fill these bins");
  CHECK(message("[7168,4]", "[7168,9007199254740993]") ==
        "$.values[0].min: more than 9007199254740992 values");
  CHECK(message("\"max\":1.75", "\"max\":4") ==
        "$.values[0].min: values from -0.5 to 4 do not fill these bins");
  CHECK(message("0xb802p-13", "0x26p+3") == "$.values[0].sum: the values do not have this sum");
}

TEST_CASE("more values than models have are refused") {
  std::string many;
  for (int i = 0; i < 65536; ++i) many += "{},";
  CHECK(refused_statistics(edited(small_text, "\n    {", many + "{")) ==
        "$.values: more than 65536 values");
}

TEST_CASE("channels that are not those of their value are refused") {
  StatisticsTable table{"", 1, {}};
  table.values.emplace("x", statistics_of(floats({2, 2}, {1, 2, 3, 4}), 1));
  const std::string text = print_statistics(table);
  REQUIRE(parse_statistics(text).has_value());
  const auto message = [&](std::string_view from, std::string_view to) {
    return refused_statistics(edited(text, from, to));
  };
  const std::string place = "$.values[0].by_channel";
  const std::string others = place + ".count: these are not the channels of this value";
  CHECK(message("\"count\":[2,2]", "\"count\":[2,1]") == others);
  CHECK(message("\"count\":[2,2]", "\"count\":[18446744073709551614,6]") == others);
  CHECK(message("\"min\":[1.0,2.0]", "\"min\":[0.5,2.0]") == others);
  CHECK(message("\"max\":[3.0,4.0]", "\"max\":[3.0,5.0]") == others);
  CHECK(message("\"sum\":[\"0x8p-1\",\"0xcp-1\"]", "\"sum\":[\"0x8p-1\",\"0xap-1\"]") == others);
  CHECK(message("\"varying\":false", "\"varying\":true") == others);
  CHECK(message("\"varying\":false", "\"varying\":0") ==
        place + ".varying: expected true or false, found number");
  CHECK(message("\"count\":[2,2]", "\"count\":[2]") ==
        place + ".count: the channels have not as many counts as ranges and sums");
  CHECK(message("\"axis\":1", "\"axis\":1.5") == place + ".axis: expected an integer of 64 bits");
  CHECK(message("\"sum\":[\"0x8p-1\"", "\"sum\":[\"8\"") ==
        place + ".sum: expected a number such as \"-0x3p-1\"");
}

TEST_CASE("every truncation is refused") {
  for (std::size_t size = 0; size + 2 < small_text.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(parse_statistics(std::string_view(small_text).substr(0, size)).has_value());
  }
}

TEST_CASE("whatever is changed is refused, or is a table that reads back") {
  std::mt19937 random(2);
  constexpr std::string_view characters = "0123456789,[]{}\":-.epx ";
  for (int round = 0; round < 2000; ++round) {
    std::string changed = small_text;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      changed[random() % changed.size()] = characters[random() % characters.size()];
    }
    const Expected<StatisticsTable> table = parse_statistics(changed);
    if (table) CHECK(parse_statistics(print_statistics(*table)) == *table);
  }
}

}  // namespace
}  // namespace quadrant
