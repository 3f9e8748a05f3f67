#include "reasons.hpp"

namespace quadrant::test {

std::span<const Reason> reasons() {
  static const std::vector<Reason> all{};
  return all;
}

}  // namespace quadrant::test
