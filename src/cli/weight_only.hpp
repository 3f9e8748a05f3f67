// The scheme weight_only on the command line.
#pragma once

#include <memory>

#include "cli/schemes.hpp"

namespace quadrant::cli {

[[nodiscard]] std::unique_ptr<SchemeCommand> make_weight_only(const SchemeEntry& entry);

}  // namespace quadrant::cli
