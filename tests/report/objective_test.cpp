#include "report/objective.hpp"

#include <doctest/doctest.h>

using namespace quadrant;

TEST_CASE("an objective says how near it is to the best, never nearer than it is") {
  CHECK(describe_objective(Gain{90}, std::nullopt, "bytes") == "90 bytes");
  CHECK(describe_objective(Gain{90}, Gain{90}, "bytes") == "90 bytes (no decision gains more)");
  CHECK(describe_objective(Gain{990}, Gain{1000}, "bytes") ==
        "990 bytes (within 1.0 % of the best possible)");
  CHECK(describe_objective(Gain{99'999}, Gain{100'000}, "bytes") ==
        "99999 bytes (within 0.1 % of the best possible)");
  CHECK(describe_objective(Gain{-3}, Gain{0}, "pips") == "-3 pips (no decision gains more than 0)");
}
