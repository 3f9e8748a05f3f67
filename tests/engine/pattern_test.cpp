#include <doctest/doctest.h>

#include <vector>

#include "quadrant/engine/declare/constraint.hpp"

using namespace quadrant;

namespace {

constexpr State Q = State::Quantizable;
constexpr State U = State::Unquantized;
constexpr State C = State::Consumer;

int mismatch(const ParentsPattern& pattern, const std::vector<State>& states,
             std::vector<std::uint8_t> present = {}) {
  if (present.empty()) present.assign(states.size(), 1);
  const std::vector<std::size_t> found = pattern.mismatches(states, present);
  CHECK(pattern.matches(states, present) == found.empty());
  return found.empty() ? -1 : static_cast<int>(found.front());
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
  constexpr auto pattern = requires_parents(AnyQuantizable, AnyUnquantized, or_absent(AnyState));
  CHECK(mismatch(pattern, {Q, U}) == -1);
  CHECK(mismatch(pattern, {Q, U, U}, {1, 1, 0}) == -1);
  CHECK(mismatch(pattern, {Q, U, Q}) == -1);
  CHECK(mismatch(pattern, {Q, U, U}, {1, 0, 1}) == 1);
}

TEST_CASE("a variadic tail matches one operand or more, each of them") {
  constexpr auto concat = requires_parents(variadic(AnyQuantizable));
  CHECK(mismatch(concat, {Q}) == -1);
  CHECK(mismatch(concat, std::vector<State>(100, Q)) == -1);
  CHECK(mismatch(concat, {Q, Q, U, Q}) == 2);
  CHECK(mismatch(concat, {}) == 0);
  CHECK(mismatch(concat, {Q, Q}, {1, 0}) == 1);
  constexpr auto tail = requires_parents(AnyUnquantized, variadic(or_absent(AnyQuantizable)));
  CHECK(mismatch(tail, {U}) == -1);
  CHECK(mismatch(tail, {U, Q, Q}, {1, 0, 1}) == -1);
  CHECK(mismatch(tail, {U, Q, U}) == 2);
  CHECK(to_string(tail) == "(AnyUnquantized, variadic(or_absent(AnyQuantizable)))");
}

TEST_CASE("patterns print as they are written") {
  CHECK(to_string(
            requires_parents(AnyQuantizable | AnyConsumer, AnyUnquantized, or_absent(AnyState))) ==
        "(AnyQuantizable | AnyConsumer, AnyUnquantized, or_absent(AnyState))");
}

namespace elsewhere {
// As programs do that have both namespaces at hand.
using namespace std;       // NOLINT(google-build-using-namespace)
using namespace quadrant;  // NOLINT(google-build-using-namespace)
constexpr auto pattern =
    requires_parents(AnyQuantizable, or_absent(AnyState), variadic(AnyConsumer));
}  // namespace elsewhere

TEST_CASE("patterns beside `using namespace std`") {
  CHECK(quadrant::to_string(elsewhere::pattern).find("or_absent(") != std::string::npos);
}
