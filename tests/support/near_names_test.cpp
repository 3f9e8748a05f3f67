#include "support/near_names.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace quadrant {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("edits of whole names") {
  CHECK(edit_distance("conv", "conv", 3) == 0);
  CHECK(edit_distance("conv", "CONV", 3) == 0);
  CHECK(edit_distance("conv", "cnov", 3) == 1);
  CHECK(edit_distance("conv", "conv1", 3) == 1);
  CHECK(edit_distance("conv", "con", 3) == 1);
  CHECK(edit_distance("kitten", "sitting", 5) == 3);
  CHECK(edit_distance("kitten", "sitting", 2) == 3);  // more than the limit
  CHECK(edit_distance("", "abc", 5) == 3);
  CHECK(edit_distance("a", "abcdefgh", 2) == 3);
}

TEST_CASE("edits of a piece of a name") {
  CHECK(edit_distance("fc1", "model/fc1/weight", 2, Match::part) == 0);
  CHECK(edit_distance("clasifier", "model.classifier.weight", 3, Match::part) == 1);
  CHECK(edit_distance("", "abc", 2, Match::part) == 0);
  CHECK(edit_distance("abcdef", "x", 2, Match::part) == 3);
}

TEST_CASE("the nearest names come first, and few of them") {
  const std::vector<std::string_view> names{"layer.1.weight", "layer.1.bias", "layer.2.weight",
                                            "layer.2.bias",   "head",         "layer.1.weight"};
  CHECK(near_names("layer.1.wieght", names) == Names{"layer.1.weight", "layer.2.weight"});
  CHECK(near_names("haed", names) == Names{"head"});
  CHECK(near_names("embedding", names).empty());
  const std::vector<std::string_view> inner{"sel/then_branch/wt", "y", "xx"};
  CHECK(near_names("wt", inner) == Names{"sel/then_branch/wt"});
  CHECK(near_names("q", inner).empty());
  CHECK(near_names("ayer.3", names, Match::part).size() == 3);
}

TEST_CASE("did you mean") {
  const std::vector<std::string_view> names{"abc1", "abc2", "abc3", "xyz"};
  CHECK(did_you_mean("xyy", names) == "; did you mean 'xyz'?");
  CHECK(did_you_mean("abc4", names) == "; did you mean 'abc1', 'abc2' or 'abc3'?");
  CHECK(did_you_mean("q", {}).empty());
  CHECK(did_you_mean_or_all("xyy", names) == "; did you mean 'xyz'?");
  CHECK(did_you_mean_or_all("nothing", names) == "; there are: abc1, abc2, abc3, xyz");
}

TEST_CASE("very long names are passed over") {
  const std::string longest(1'000'000, 'a');
  CHECK(near_names(longest, std::vector<std::string_view>{longest}).empty());
}

}  // namespace
}  // namespace quadrant
