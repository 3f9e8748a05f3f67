#include "report/terminal_text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace quadrant {
namespace {

TEST_CASE("display_width counts columns") {
  CHECK(display_width("") == 0);
  CHECK(display_width("weight") == 6);
  CHECK(display_width("größe") == 5);
  CHECK(display_width("重み") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("🙂!") == 3);
  CHECK(display_width("\xff\xfe") == 2);  // not UTF-8
  CHECK(display_width("\xe9\x87") == 2);  // cut off
}

TEST_CASE("printable leaves text alone") {
  CHECK(printable("größe 重み 🙂") == "größe 重み 🙂");
  CHECK(printable("a\\n") == "a\\n");
}

TEST_CASE("printable takes the terminal out of names") {
  CHECK(printable("a\nb\tc\r") == "a\\nb\\tc\\x0d");
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\u009b1A") == "\\u009b1A");            // a control sequence in one character
  CHECK(printable("a\u202eb") == "a\\u202eb");            // right to left
  CHECK(printable("\xff\xc0\xaf") == "\\xff\\xc0\\xaf");  // not UTF-8: stray and overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
}

TEST_CASE("printable_lines keeps line ends") {
  CHECK(printable_lines("a\x1b\nb\n") == "a\\x1b\nb\n");
  CHECK(printable_lines("a") == "a");
}

TEST_CASE("format_bytes keeps three digits") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(1000) == "1.00 kB");
  CHECK(format_bytes(1234) == "1.23 kB");
  CHECK(format_bytes(9994) == "9.99 kB");
  CHECK(format_bytes(9999) == "10.0 kB");
  CHECK(format_bytes(99'999) == "100 kB");
  CHECK(format_bytes(999'499) == "999 kB");
  CHECK(format_bytes(999'500) == "1.00 MB");
  CHECK(format_bytes(2'500'000'000) == "2.50 GB");
  CHECK(format_bytes(std::numeric_limits<std::uint64_t>::max()) == "18.4 EB");
}

TEST_CASE("format_share never rounds a part to all or nothing") {
  CHECK(format_share(1, 2) == "50.0 %");
  CHECK(format_share(3, 3) == "100.0 %");
  CHECK(format_share(0, 3) == "0.0 %");
  CHECK(format_share(99'999, 100'000) == "> 99.9 %");
  CHECK(format_share(1, 100'000) == "< 0.1 %");
  CHECK(format_share(3, 2) == "150.0 %");
  CHECK(format_share(0, 0) == "-");
}

}  // namespace
}  // namespace quadrant
