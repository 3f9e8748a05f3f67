// Text from files, as it may be shown.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::failures {

/// Names in hostile files hold line breaks, terminal commands, bytes that are no UTF-8, or
/// megabytes: what is not printable is escaped, what is long is cut off.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for all parts of an error.
void make_printable(Error& error);

}  // namespace quadrant::inline v0::failures
