// What a fuzz target expects of the library, besides that it does no harm.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "quadrant/support/error.hpp"

namespace fuzz {

/// Ends the process, which the fuzzer reports as a finding, unless `condition` holds. `details()`
/// is text that is made for the report alone.
template <class Details>
void require(bool condition, std::string_view what, Details&& details) {
  if (condition) return;
  const std::string text = details();
  std::fprintf(stderr, "%.*s\n%s\n", static_cast<int>(what.size()), what.data(), text.c_str());
  std::abort();
}

/// The same for an Expected.
template <class Result, class Details>
void require_value(const Result& result, std::string_view what, Details&& details) {
  require(result.has_value(), what,
          [&] { return quadrant::to_string(result.error()) + '\n' + details(); });
}

}  // namespace fuzz
