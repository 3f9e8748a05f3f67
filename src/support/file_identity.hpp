// Which file it is, asked of the system.
#pragma once

#include <optional>
#include <string>

#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

/// Of the regular file at `path`; none where there is no such file.
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::string& path);
/// Of an open file.
[[nodiscard]] std::optional<FileIdentity> identity_of(int descriptor);

}  // namespace quadrant::inline v0
