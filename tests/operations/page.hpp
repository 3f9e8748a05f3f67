// docs/operations.md.
#pragma once

#include <string>

#include "reasons.hpp"

namespace quadrant::test {

[[nodiscard]] std::string page_of(const Status& status, const Explanation& explanation);

}  // namespace quadrant::test
