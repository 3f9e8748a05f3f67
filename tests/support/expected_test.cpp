#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "quadrant/support/error.hpp"

using namespace quadrant;

namespace {

Expected<int> half(int number) {
  if (number % 2 != 0) return fail(ErrorCode::usage, "odd", {.node = std::to_string(number)});
  return number / 2;
}

Expected<std::string> quarter(int number) {
  QUADRANT_TRY(const int once, half(number));
  QUADRANT_TRY(const int twice, half(once));
  return std::to_string(twice);
}

Expected<void> is_even(int number, int& reached) {
  QUADRANT_CHECK(half(number));
  reached = number;
  return {};
}

Expected<std::unique_ptr<int>> owned(int number) {
  QUADRANT_TRY(auto pointer, Expected<std::unique_ptr<int>>(std::make_unique<int>(number)));
  return pointer;
}

#define TRY_BOTH(a, b, number)             \
  QUADRANT_TRY(const int a, half(number)); \
  QUADRANT_TRY(const int b, half(a))

Expected<int> quarter_on_one_line(int number) {
  TRY_BOTH(once, twice, number);
  return twice;
}

}  // namespace

TEST_CASE("QUADRANT_TRY stands twice on a line") {
  CHECK(quarter_on_one_line(12).value() == 3);
  CHECK(quarter_on_one_line(6).error().place.node == "3");
}

TEST_CASE("QUADRANT_TRY binds the value or passes the error on as it was") {
  CHECK(quarter(12).value() == "3");
  const auto odd = quarter(6);
  REQUIRE(!odd);
  CHECK(odd.error() == Error{ErrorCode::usage, "odd", {.node = "3"}});
}

TEST_CASE("QUADRANT_CHECK stops at the first error") {
  int reached = 0;
  CHECK(is_even(4, reached));
  CHECK(reached == 4);
  CHECK(!is_even(5, reached));
  CHECK(reached == 4);
}

TEST_CASE("values that can only be moved pass through") {
  const auto pointer = owned(7);
  REQUIRE(pointer);
  CHECK(**pointer == 7);
}
