#include "quadrant/engine/pattern.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace quadrant;

namespace {

constexpr State Q = State::Quantizable;
constexpr State U = State::Unquantized;
constexpr State C = State::Consumer;

int mismatch(const ParentsPattern& pattern, const std::vector<State>& states,
             std::vector<std::uint8_t> present = {}) {
  if (present.empty()) present.assign(states.size(), 1);
  return pattern.first_mismatch(states, present);
}

}  // namespace

TEST_CASE("one matcher accepts the states it names") {
  CHECK(AnyQuantizable.accepts(Q));
  CHECK_FALSE(AnyQuantizable.accepts(U));
  CHECK_FALSE(AnyQuantizable.accepts(C));
  CHECK(AnyUnquantized.accepts(U));
  CHECK(AnyUnquantized.accepts(C));  // a Consumer's output is float
  CHECK(AnyConsumer.accepts(C));
  CHECK_FALSE(AnyConsumer.accepts(U));
  CHECK(AnyQuantized.accepts(State::Quantized));
  CHECK(AnyQuantized.accepts(State::ToQuantize));  // as phase 3 needs
}

TEST_CASE("| is or") {
  constexpr auto either = AnyQuantizable | AnyConsumer;
  CHECK(either.accepts(Q));
  CHECK(either.accepts(C));
  CHECK_FALSE(either.accepts(U));
  static_assert(either == (AnyConsumer | AnyQuantizable));
}

TEST_CASE("operands are matched in order, and none is left over") {
  constexpr auto pattern = requires_parents(AnyQuantizable, AnyUnquantized);
  CHECK(mismatch(pattern, {Q, U}) == -1);
  CHECK(mismatch(pattern, {U, Q}) == 0);
  CHECK(mismatch(pattern, {Q, Q}) == 1);
  CHECK(mismatch(pattern, {Q}) == 1);
  CHECK(mismatch(pattern, {Q, U, U}) == 2);
}

TEST_CASE("an absent operand matches optional alone") {
  constexpr auto pattern = requires_parents(AnyQuantizable, AnyUnquantized, optional(AnyState));
  CHECK(mismatch(pattern, {Q, U}) == -1);
  CHECK(mismatch(pattern, {Q, U, U}, {1, 1, 0}) == -1);
  CHECK(mismatch(pattern, {Q, U, Q}) == -1);
  CHECK(mismatch(pattern, {Q, U, U}, {1, 0, 1}) == 1);
}

TEST_CASE("patterns print as they are written") {
  CHECK(to_string(
            requires_parents(AnyQuantizable | AnyConsumer, AnyUnquantized, optional(AnyState))) ==
        "(AnyQuantizable | AnyConsumer, AnyUnquantized, optional(AnyState))");
}
