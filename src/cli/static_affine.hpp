// The scheme static_affine on the command line.
#pragma once

#include <memory>

#include "cli/schemes.hpp"

namespace quadrant::cli {

[[nodiscard]] std::unique_ptr<SchemeCommand> make_static_affine();

}  // namespace quadrant::cli
