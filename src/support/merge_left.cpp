#include "support/merge_left.hpp"

#include <algorithm>
#include <tuple>

namespace quadrant::inline v0 {

void merge_left(std::vector<LeftAlone>& left, const std::vector<LeftAlone>& others) {
  left.insert(left.end(), others.begin(), others.end());
  std::ranges::sort(left, {},
                    [](const LeftAlone& each) { return std::tie(each.name, each.reason); });
  const auto again = std::ranges::unique(left, {}, &LeftAlone::name);
  left.erase(again.begin(), again.end());
}

}  // namespace quadrant::inline v0
