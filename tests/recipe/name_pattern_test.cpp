#include "recipe/name_pattern.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace quadrant;

TEST_CASE("the pattern of a name matches that name and no other") {
  for (const std::string name : {"conv1", "/conv1/Conv_output_0", "a.b", "w[0]", "x+y*(z)?", "^$",
                                 "a|b", "back\\slash", "\xC3\xA9t\xC3\xA9", "{2}", ""}) {
    CAPTURE(name);
    const auto pattern = NamePattern::make(pattern_of(name));
    REQUIRE(pattern);
    CHECK(pattern->matches(name));
    for (const std::string& other : {name + "x", "x" + name, std::string("y")}) {
      CHECK(!pattern->matches(other));
    }
  }
  CHECK(!NamePattern::make(pattern_of("a.b"))->matches("a-b"));
}
