// The version of Quadrant. It stands here and nowhere else: CMake reads it from this file.
#pragma once

// NOLINTBEGIN(*-macro-to-enum): the preprocessor of users, and CMake, read them
#define QUADRANT_VERSION_MAJOR 0
#define QUADRANT_VERSION_MINOR 2
#define QUADRANT_VERSION_PATCH 0
#define QUADRANT_VERSION_STRING "0.2.0"
// NOLINTEND(*-macro-to-enum)

namespace quadrant::inline v0 {

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;

  friend bool operator==(const Version&, const Version&) = default;
};

/// The version of the headers that this translation unit was compiled with.
[[nodiscard]] constexpr Version version() noexcept {
  return {QUADRANT_VERSION_MAJOR, QUADRANT_VERSION_MINOR, QUADRANT_VERSION_PATCH};
}

}  // namespace quadrant::inline v0
