#include "report/html_text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace quadrant;

TEST_CASE("no text becomes markup") {
  CHECK(html_text("</script><img src=x onerror=alert(1)>") ==
        "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;");
  CHECK(html_text("a\"b'c&d") == "a&quot;b&#39;c&amp;d");
  CHECK(html_text("&lt;") == "&amp;lt;");
}

TEST_CASE("whatever the bytes are, what comes out is UTF-8 without controls or markup") {
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0, 0x22, 0x3C, 0x80, 0xA8, 0xBF, 0xFF}) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const std::string html = html_text(text);
      CAPTURE(first);
      CAPTURE(second);
      for (const char c : html) {
        const auto byte = static_cast<unsigned char>(c);
        CHECK_FALSE((byte < 0x20 || byte == 0x7F || c == '<' || c == '>' || c == '"' || c == '\''));
      }
    }
  }
  CHECK(html_text("\xE2\x80\xA8") == "\\u2028");  // a line end to scripts
  CHECK(html_text("\xE2\x80\xAE") == "\\u202e");  // turns the writing direction
  CHECK(html_text("\xFF") == "\\xff");
  CHECK(html_text("\xC3\xA9\xE4\xB8\xAD") == "\xC3\xA9\xE4\xB8\xAD");
}

TEST_CASE("long text is cut between characters, and says so") {
  CHECK(html_text("abcdef", 6) == "abcdef");
  CHECK(html_text("abcdefg", 6) == "abcdef\u2026 (and 1 bytes)");
  CHECK(html_text("abc\xE4\xB8\xAD", 4) == "abc\u2026 (and 3 bytes)");
  CHECK(html_text(std::string(1'000'000, '<')).size() < 3000);
}

TEST_CASE("names may break behind their separators") {
  CHECK(html_name("a/b.c<") == "a/<wbr>b.<wbr>c&lt;");
}

TEST_CASE("digits are grouped") {
  CHECK(grouped(std::int64_t{0}) == "0");
  CHECK(grouped(std::int64_t{-999}) == "-999");
  CHECK(grouped(std::int64_t{-1000}) == "-1,000");
  CHECK(grouped(std::int64_t{123456}) == "123,456");
  CHECK(grouped(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
  CHECK(grouped(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}
