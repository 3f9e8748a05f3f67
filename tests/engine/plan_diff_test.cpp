#include <doctest/doctest.h>

#include <algorithm>

#include "quadrant/engine/explain/explain.hpp"

using namespace quadrant;

namespace {

Plan example() {
  Plan plan;
  plan.schemes = {{"toy", "bits=8"}};
  plan.gain_model = "unit";
  plan.objective = Gain{3};
  plan.values = {{"a", "toy", "colour 0", Gain{1}}, {"b", "toy", "colour 1", Gain{2}}};
  plan.conversions = {{"a", "colour 0", "float", {"u", "v"}}};
  plan.shared = {{"colour 0", {"a", "c"}}};
  return plan;
}

using Differences = std::vector<PlanDifference>;

}  // namespace

TEST_CASE("equal plans do not differ") {
  CHECK(diff(example(), example()).empty());
  CHECK(diff({}, {}).empty());
  CHECK(to_string(diff(example(), example())).empty());
}

TEST_CASE("a value whose gain alone changed is no difference") {
  Plan after = example();
  after.values[0].gain = Gain{100};
  CHECK(diff(example(), after).empty());
}

TEST_CASE("the settings differ: schemes, their options, gain model, objective") {
  Plan after = example();
  after.schemes = {{"new", ""}, {"toy", "bits=4"}};
  after.gain_model = "bytes";
  after.objective = Gain{-7};
  after.values.clear();
  after.conversions = {{"a", "toy colour 0", "float", {"u", "v"}}};  // as plans of two print them
  after.shared = {{"toy colour 0", {"a", "c"}}};
  Plan before = example();
  before.values.clear();
  CHECK(diff(before, after) == Differences{{"scheme 'new'", "", "in use"},
                                           {"scheme 'toy'", "bits=8", "bits=4"},
                                           {"gain model", "unit", "bytes"},
                                           {"objective", "3", "-7"}});
}

TEST_CASE("values are added, removed and changed") {
  Plan after = example();
  after.values = {{"b", "toy", "colour 2", Gain{2}}, {"c", "toy", "colour 0", Gain{1}}};
  const Differences found = diff(example(), after);
  CHECK(found == Differences{{"value 'a'", "colour 0", ""},
                             {"value 'b'", "colour 1", "colour 2"},
                             {"value 'c'", "", "colour 0"}});
  CHECK(to_string(found) ==
        "- value 'a': colour 0\n"
        "  value 'b': colour 1 -> colour 2\n"
        "+ value 'c': colour 0\n");
}

TEST_CASE("a value that another scheme quantizes alike differs where a plan has several schemes") {
  Plan before = example();
  before.schemes = {{"toy", ""}, {"toy2", ""}};
  Plan after = before;
  after.values[1].scheme = "toy2";
  CHECK(diff(before, after) == Differences{{"value 'b'", "toy colour 1", "toy2 colour 1"}});
}

TEST_CASE("plans of other schemes differ in each value, whatever the constraint prints") {
  Plan after = example();
  after.schemes = {{"toy2", ""}};
  for (PlannedValue& value : after.values) value.scheme = "toy2";
  const Differences found = diff(example(), after);
  CHECK(std::ranges::count(found, PlanDifference{"value 'a'", "toy colour 0", "toy2 colour 0"}) ==
        1);
  CHECK(std::ranges::count(
            found, PlanDifference{"conversion of 'a' to float", "from toy colour 0 for u, v",
                                  "from toy2 colour 0 for u, v"}) == 1);
  // A second scheme that quantizes nothing changes no value.
  after = example();
  after.schemes.push_back({"toy2", ""});
  after.conversions = {{"a", "toy colour 0", "float", {"u", "v"}}};
  after.shared = {{"toy colour 0", {"a", "c"}}};
  CHECK(diff(example(), after) == Differences{{"scheme 'toy2'", "", "in use"}});
}

TEST_CASE("the policy is a setting, and a constraint may print nothing") {
  Plan after = example();
  after.policy = SelectionPolicy::optimal;
  CHECK(diff(example(), after) == Differences{{"policy", "greedy", "optimal"}});
  Plan before = example();
  before.values[0].constraint = "";
  after = before;
  after.values.erase(after.values.begin());
  REQUIRE(diff(before, after).size() == 1);
  CHECK(to_string(diff(before, after)).starts_with("- value 'a': toy"));
}

TEST_CASE("conversions differ by what is converted, from what, and for whom") {
  Plan after = example();
  after.conversions = {{"a", "colour 0", "float", {"u"}}, {"b", "float", "colour 1", {}}};
  CHECK(diff(example(), after) ==
        Differences{{"conversion of 'a' to float", "from colour 0 for u, v", "from colour 0 for u"},
                    {"conversion of 'b' to colour 1", "", "from float for other conversions"}});
}

TEST_CASE("shared parameters differ for each value that shares them") {
  Plan after = example();
  after.shared = {{"colour 0", {"a", "c", "d"}}};
  CHECK(diff(example(), after) ==
        Differences{
            {"parameters of 'a' as colour 0", "shared by a, c", "shared by a, c, d"},
            {"parameters of 'c' as colour 0", "shared by a, c", "shared by a, c, d"},
            {"parameters of 'd' as colour 0", "", "shared by a, c, d"},
        });
}

TEST_CASE("turned around, every difference is turned around") {
  Plan after = example();
  after.values.pop_back();
  after.conversions.clear();
  after.gain_model = "bytes";
  const Differences there = diff(example(), after);
  const Differences back = diff(after, example());
  REQUIRE(there.size() == back.size());
  CHECK(there.size() == 3);
  for (std::size_t i = 0; i < there.size(); ++i) {
    CHECK(there[i] == PlanDifference{back[i].what, back[i].after, back[i].before});
  }
}
