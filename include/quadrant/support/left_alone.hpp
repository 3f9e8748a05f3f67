// What a transformation did not touch.
#pragma once

#include <string>

namespace quadrant::inline v0 {

/// Something that a transformation looked at and left as it was.
struct LeftAlone {
  std::string name;    ///< of a value: the result of the operation that is meant
  std::string reason;  ///< why, for people
  friend bool operator==(const LeftAlone&, const LeftAlone&) = default;
};

}  // namespace quadrant::inline v0
