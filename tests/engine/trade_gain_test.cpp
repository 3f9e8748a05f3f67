#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "ir/build.hpp"
#include "quadrant/engine/gains/gain.hpp"

using namespace quadrant;

namespace {

const int some_constraint = 0;

struct Stored {
  Graph graph;
  Value weight = graph.add_constant(
      "w", Constant::from_values<float>(ElementType::float32, Shape{2}, std::array{1.0F, 2.0F}));

  [[nodiscard]] Storing as(std::string_view scheme, std::uint64_t after) const {
    return {graph.ref(weight.node), {scheme, &some_constraint}, {8, after}};
  }
};

}  // namespace

TEST_CASE("errors are found by value and scheme, and what is no number is the most there is") {
  ErrorTable errors;
  errors.set("w", "int8", 0.5);
  errors.set("w", "int4", 2);
  errors.set("v", "int4", std::numeric_limits<double>::quiet_NaN());
  errors.set("u", "int4", -1);
  CHECK(errors.find("w", "int8") == 0.5);
  CHECK_FALSE(errors.find("w", "int2").has_value());
  CHECK_FALSE(errors.find("int8", "w").has_value());
  CHECK(errors.find("v", "int4") == ErrorTable::most);
  CHECK(errors.find("u", "int4") == ErrorTable::most);
  CHECK(errors.largest_sum() == 2 * ErrorTable::most + 2);
  CHECK(errors.size() == 4);
}

TEST_CASE("a trade weighs bytes against errors") {
  const Stored stored;
  ErrorTable errors;
  errors.set("w", "int8", 1);
  errors.set("w", "int4", 4);
  const auto better = [&](double price) {
    const TradeGain gains({.byte = 1, .error = price, .nanosecond = 0}, {.bytes = 8}, errors);
    const Gain eight = gains.of_storage(stored.as("int8", 4));
    const Gain four = gains.of_storage(stored.as("int4", 2));
    CHECK(gains.of_operand({}) == Gain{});
    CHECK(gains.of_conversion({}) == Gain{});
    if (eight < Gain{} && four < Gain{}) return "float";
    return eight > four ? "int8" : "int4";
  };
  CHECK(std::string_view(better(0)) == "int4");
  CHECK(std::string_view(better(0.6)) == "int4");  // 4 - 0.6 < 6 - 2.4
  CHECK(std::string_view(better(0.7)) == "int8");  // 4 - 0.7 > 6 - 2.8
  CHECK(std::string_view(better(4.1)) == "float");
}

TEST_CASE("amounts of a trade add up without overflow, whatever the weights are") {
  const Stored stored;
  ErrorTable errors;
  errors.set("w", "int8", ErrorTable::most);
  for (const double byte : {1e-300, 1.0, 1e300}) {
    for (const double error : {0.0, 1e-30, 1e290}) {
      const TradeGain gains({.byte = byte, .error = error, .nanosecond = 0}, {.bytes = 8}, errors);
      const auto amount = gains.of_storage(stored.as("int8", 4)).amount();
      CHECK(std::abs(static_cast<double>(amount)) <= 0x1p52);
    }
  }
}
