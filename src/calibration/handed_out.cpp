#include "calibration/handed_out.hpp"

#include <fmt/format.h>

#include <string>

namespace quadrant::inline v0 {

Expected<void> check_handed_out(std::size_t times, std::string_view output) {
  if (times == 1) return {};
  return fail(ErrorCode::usage,
              fmt::format("the runtime handed out output '{}' {} times for a sample, not once",
                          output, times),
              {.tensor = std::string(output)});
}

}  // namespace quadrant::inline v0
