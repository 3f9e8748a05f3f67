#include "recipe/json_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace quadrant {
namespace {

bool fits(std::string_view text, std::size_t memory) {
  const Expected<nlohmann::json> document = parse_json(text, memory);
  if (document) return true;
  CHECK(document.error().code == ErrorCode::invalid_model);
  CHECK_MESSAGE(document.error().message.find("bytes of memory") != std::string::npos,
                document.error().message);
  return false;
}

std::string list_of(std::string_view element, std::size_t count) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text.append(i == 0 ? "" : ",").append(element);
  return text + "]";
}

TEST_CASE("a document takes no more memory than it may") {
  constexpr std::size_t count = 1000;
  // A number has a place of 16 bytes, in a list that grows to twice its size.
  CHECK_FALSE(fits(list_of("1", count), count * 2 * 16));
  CHECK(fits(list_of("1", count), count * 4 * 16));
  // Everything else has one as well, and besides at least what it is made of.
  for (const std::string_view element : {"[]", "{}", "\"\"", "\"a\"", "[[]]"}) {
    CAPTURE(element);
    CHECK_FALSE(fits(list_of(element, count), count * (2 * 16 + 24)));
    CHECK(fits(list_of(element, count), count * 200));
  }
  std::string members;
  for (std::size_t i = 0; i < count; ++i) members += ", \"" + std::to_string(i) + "\": 0";
  const std::string object = "{" + members.substr(1) + "}";
  CHECK_FALSE(fits(object, count * (16 + 32 + 32)));
  CHECK(fits(object, count * 150));
  const std::string text = "\"" + std::string(count, 'x') + "\"";
  CHECK_FALSE(fits(text, count));
  CHECK(fits(text, 3 * count));
  CHECK_FALSE(fits("{" + text + ": 0}", count));
  CHECK(fits("{" + text + ": 0}", 3 * count));
}

TEST_CASE("the place where memory ends is told") {
  const Expected<nlohmann::json> document =
      parse_json(R"({"a": {"b": )" + list_of("1.5", 100) + "}}", 1000);
  REQUIRE_FALSE(document.has_value());
  CHECK(document.error().message ==
        "$.a.b: up to here, the document takes more than 1000 bytes of memory");
}

}  // namespace
}  // namespace quadrant
