#include "ir/base64.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace quadrant;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("base64: the vectors of RFC 4648") {
  const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    std::string text;
    detail::append_base64(bytes_of(plain), text);
    CHECK(text == coded);
    CHECK(detail::from_base64(coded) == bytes_of(plain));
  }
}

TEST_CASE("base64: all bytes come back") {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 300; ++size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    std::string text = "before";
    detail::append_base64(bytes, text);
    REQUIRE(text.starts_with("before"));
    CHECK(detail::from_base64(std::string_view(text).substr(6)) == bytes);
  }
}

TEST_CASE("base64: what it does not write is refused") {
  for (const char* const text :
       {"Zg", "Zg=", "Zg===", "====", "Z===", "Zh==", "Zm9=", "Zm 9", "Zm9-", "=Zg=", "Zg==Zg=="}) {
    CAPTURE(text);
    CHECK_FALSE(detail::from_base64(text).has_value());
  }
}
