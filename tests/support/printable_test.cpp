#include "support/printable.hpp"

#include <doctest/doctest.h>

using quadrant::failures::printable;

TEST_CASE("text of a file is shown without what a terminal would obey") {
  CHECK(printable("conv1/weights") == "conv1/weights");
  CHECK(printable("größe") == "größe");
  CHECK(printable("a\nb\x1b[2J") == "a\\x0ab\\x1b[2J");
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");
  CHECK(printable(std::string(2000, 'x')).size() == 1003);
}

TEST_CASE("all parts of an error become printable") {
  quadrant::Error error{quadrant::ErrorCode::io, "m\n", {.node = "n\n", .tensor = "t\n"}};
  error.place.file = "f\n";
  quadrant::failures::make_printable(error);
  CHECK(error.message == "m\\x0a");
  CHECK(error.place.file == "f\\x0a");
  CHECK(error.place.node == "n\\x0a");
  CHECK(error.place.tensor == "t\\x0a");
}
