#include <doctest/doctest.h>

#include "quadrant/report/tables.hpp"

namespace quadrant {
namespace {

using Align = Table::Align;

TEST_CASE("columns line up, wide characters included") {
  Table table({{"weight"}, {"bytes", Align::right}, {"why"}});
  table.add({"dense.weight", "1.02 kB", "asked for"});
  table.add({"重み", "5 B"});
  CHECK(table.print() ==
        "  weight          bytes  why\n"
        "  dense.weight  1.02 kB  asked for\n"
        "  重み              5 B\n");
}

TEST_CASE("a table without titles has no line for them") {
  Table table({{""}, {"", Align::right}});
  CHECK(table.is_empty());
  table.add({"a", "1"});
  table.add({"bc", "10"});
  CHECK_FALSE(table.is_empty());
  CHECK(table.print(0) == "a    1\nbc  10\n");
}

TEST_CASE("a cell cannot leave its line") {
  Table table({{"name"}, {"n", Align::right}});
  table.add({"a\nb", "1"});
  CHECK(table.print(0) == "name  n\na\\nb  1\n");
}

}  // namespace
}  // namespace quadrant
