// Answers of analyses that may say no, without it being an error.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace quadrant::inline v0 {

/// A finding, or why there is none, for people.
template <class T>
using OrReason = tl::expected<T, std::string>;

[[nodiscard]] inline tl::unexpected<std::string> because(std::string reason) {
  return tl::unexpected<std::string>(std::move(reason));
}

}  // namespace quadrant::inline v0
