#include "quadrant/engine/declare/constraint.hpp"

#include <doctest/doctest.h>

#include "engine/toy_scheme.hpp"

using namespace quadrant;

TEST_CASE("equal constraints are one, unequal ones two, although all hashes collide") {
  ConstraintTable table({&constraint_type<toy::Colour>});
  const toy::Colour red{1};
  const toy::Colour also_red{1};
  const toy::Colour blue{2};
  CHECK(table.intern(0, &red) == table.intern(0, &also_red));
  CHECK(table.intern(0, &red) != table.intern(0, &blue));
  CHECK(table.size() == 2);
  CHECK(table.as<toy::Colour>(table.intern(0, &blue)).number == 2);
}

TEST_CASE("the order is the constraints' own, not that of arrival") {
  ConstraintTable table({&constraint_type<toy::Colour>});
  const toy::Colour late{9};
  const toy::Colour early{3};
  const ConstraintId nine = table.intern(0, &late);
  const ConstraintId three = table.intern(0, &early);
  CHECK(table.less(three, nine));
  CHECK_FALSE(table.less(nine, three));
}

TEST_CASE("text reads back") {
  ConstraintTable table({&constraint_type<toy::Colour>});
  const toy::Colour red{1};
  const ConstraintId id = table.intern(0, &red);
  CHECK(table.parse(0, table.print(id)) == id);
  CHECK_FALSE(table.parse(0, "colour red").has_value());
}
