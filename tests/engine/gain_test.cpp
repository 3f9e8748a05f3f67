#include "quadrant/engine/gain.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace quadrant;

TEST_CASE("gains saturate at both ends, so order does not matter") {
  constexpr Gain most{std::numeric_limits<std::int64_t>::max()};
  constexpr Gain least{std::numeric_limits<std::int64_t>::min()};
  CHECK(most + Gain{1} == most);
  CHECK(least + Gain{-1} == least);
  CHECK(most + least == Gain{-1});
  CHECK(Gain{2} + Gain{-5} == Gain{-3});
}

TEST_CASE("the bytes model counts what a file saves, and may be negative") {
  const BytesGain bytes;
  CHECK(bytes.of_storage({100, 30}) == Gain{70});
  CHECK(bytes.of_storage({4, 6}) == Gain{-2});
  CHECK(bytes.of_operand({}, 0) == Gain{});
}

TEST_CASE("the unit model counts consuming operands") {
  const UnitGain unit;
  CHECK(unit.of_storage({100, 30}) == Gain{});
  CHECK(unit.of_operand({}, 1) == Gain{1});
}

TEST_CASE("models are made by name") {
  CHECK(make_gain_model("unit")->name() == "unit");
  CHECK(make_gain_model("bytes")->unit() == "bytes");
  CHECK(make_gain_model("euros") == nullptr);
}
