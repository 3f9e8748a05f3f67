#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "quadrant/recipe/documents.hpp"
#include "recipe/text.hpp"

namespace quadrant {
namespace {

using test::mentions;

// Every number another, so that none can take another's place.
HardwareProfile numbered() {
  HardwareProfile profile;
  profile.name = "a-b_c.1";
  profile.description = "größer";
  double next = 0.5;
  for (const HardwareNumber& number : hardware_numbers()) profile.*number.member = next += 0.25;
  profile.folds_constants = true;
  profile.sums_in_32_bits = true;
  return profile;
}

std::string replaced(std::string_view part, std::string_view by) {
  std::string text = print_hardware(numbered());
  const std::size_t place = text.find(part);
  REQUIRE(place != std::string::npos);
  return text.replace(place, part.size(), by);
}

std::string refused_hardware(std::string_view part, std::string_view by) {
  const auto read = parse_hardware(replaced(part, by));
  CAPTURE(by);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == ErrorCode::invalid_model);
  return read.error().message;
}

TEST_CASE("a profile reads back as it was") {
  const auto read = parse_hardware(print_hardware(numbered()));
  REQUIRE(read.has_value());
  CHECK(*read == numbered());
  HardwareProfile bare = numbered();
  bare.description.clear();
  bare.cache_bytes = bare.cache_bandwidth = 0;
  bare.weights8_products = bare.weights4_products = 0;
  bare.folds_constants = false;
  CHECK_FALSE(mentions(print_hardware(bare), "weights"));
  CHECK(parse_hardware(print_hardware(bare)) == bare);
  bare.sums_in_32_bits = false;
  CHECK(parse_hardware(print_hardware(bare)) == bare);
}

TEST_CASE("files mean what is written in them") {
  const auto read = parse_hardware(R"({"format": "quadrant.hardware", "version": 1, "name": "n",
      "bandwidth": 1, "overhead": 2, "float_products": 3, "int8_products": 4, "uint8_products": 5,
      "weights4_products": 7, "float_elements": 8, "int8_elements": 9, "quantize": 10,
      "dequantize": 11, "requantize": 12.5})");
  REQUIRE(read.has_value());
  CHECK(*read == HardwareProfile{.name = "n",
                                 .description = "",
                                 .bandwidth = 1,
                                 .cache_bytes = 0,
                                 .cache_bandwidth = 0,
                                 .overhead = 2,
                                 .float_products = 3,
                                 .int8_products = 4,
                                 .uint8_products = 5,
                                 .weights8_products = 0,
                                 .weights4_products = 7,
                                 .float_elements = 8,
                                 .int8_elements = 9,
                                 .quantize = 10,
                                 .dequantize = 11,
                                 .requantize = 12.5,
                                 .folds_constants = false});
}

TEST_CASE("profiles that come with the library pass, and print and read back") {
  std::set<std::string> names;
  for (const HardwareProfile& profile : hardware_profiles()) {
    CHECK(check(profile).has_value());
    CHECK(parse_hardware(print_hardware(profile)) == profile);
    CHECK_FALSE(profile.description.empty());
    CHECK(names.insert(profile.name).second);
    CHECK(find_hardware_profile(profile.name) == &profile);
  }
  CHECK_FALSE(names.empty());
  CHECK(find_hardware_profile("x86") == nullptr);
}

TEST_CASE("what is no profile is refused with its place, and near names") {
  CHECK(refused_hardware("\"bandwidth\"", "\"bandwith\"") ==
        "$: 'bandwidth' is missing; there is \"bandwith\"");
  // "uint8_products" is near, but right where it is.
  CHECK(refused_hardware("\"int8_products\"", "\"other\"") == "$: 'int8_products' is missing");
  CHECK(mentions(refused_hardware("\"folds_constants\"", "\"fold_constants\""),
                 "$.fold_constants: unknown key; did you mean 'folds_constants'?"));
  CHECK(mentions(refused_hardware("\"overhead\": 1.5", "\"overhead\": \"1\""),
                 "$.overhead: expected a number"));
  CHECK(mentions(refused_hardware("\"folds_constants\": true", "\"folds_constants\": 1"),
                 "true or false"));
  CHECK(mentions(refused_hardware("quadrant.hardware", "quadrant.recipe"), "quadrant.recipe"));
  CHECK(mentions(refused_hardware("\"version\": 1", "\"version\": 2"), "version"));
  CHECK(mentions(refused_hardware("a-b_c.1", ""), "$.name: expected"));
  CHECK(mentions(refused_hardware("a-b_c.1", "a b"), "$.name: expected"));
  CHECK(mentions(refused_hardware("a-b_c.1", std::string(101, 'a')), "$.name: expected"));
  CHECK(mentions(refused_hardware("größer", std::string(1001, 'a')), "$.description"));
  CHECK(mentions(refused_hardware("\"overhead\": 1.5", "\"overhead\": [[1]]"),
                 "$.overhead: expected a number, found array"));
  CHECK_FALSE(parse_hardware("[]").has_value());
  CHECK_FALSE(parse_hardware("").has_value());
}

TEST_CASE("numbers of a file are in bounds") {
  for (const char* bad : {"0", "-1", "1e-7", "1e10", "null"}) {
    CAPTURE(bad);
    CHECK(mentions(refused_hardware("\"bandwidth\": 0.75", std::string("\"bandwidth\": ") + bad),
                   "$.bandwidth"));
  }
  CHECK_FALSE(parse_hardware(replaced("\"bandwidth\": 0.75", "\"bandwidth\": 1e400")).has_value());
  CHECK(mentions(refused_hardware("\"cache_bytes\": 1.0", "\"cache_bytes\": 0"),
                 "$.cache_bytes: it goes"));
}

TEST_CASE("every number is checked, in bounds that are part of what is allowed") {
  for (const HardwareNumber& number : hardware_numbers()) {
    CAPTURE(number.key);
    HardwareProfile profile = numbered();
    for (const double good : {least_hardware_number, most_hardware_number}) {
      profile.*number.member = good;
      CHECK(check(profile).has_value());
    }
    profile.*number.member = 0;
    const bool is_of_cache = number.key.starts_with("cache_");  // one goes with the other
    CHECK(check(profile).has_value() == (number.may_be_zero && !is_of_cache));
    for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(), 1e10, 1e-10}) {
      profile.*number.member = bad;
      const auto status = check(profile);
      REQUIRE_FALSE(status.has_value());
      CHECK(status.error().message.starts_with(number.key));
    }
  }
}

}  // namespace
}  // namespace quadrant
