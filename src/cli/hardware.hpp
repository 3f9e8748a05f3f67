// Which hardware profile is meant: one by name, or a file.
#pragma once

#include <string>

#include "quadrant/engine/hardware_profile.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

/// The profile of this name that comes with the program; otherwise the file is read.
[[nodiscard]] Expected<HardwareProfile> read_hardware(const std::string& name_or_file,
                                                      FileTransaction& files);

}  // namespace quadrant::cli
