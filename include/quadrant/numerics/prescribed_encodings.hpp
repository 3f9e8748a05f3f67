// Encodings that someone prescribes for a model's values, in place of those that would be found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {

/// Of one value.
struct PrescribedEncoding {
  std::vector<Encoding> encodings;  ///< one; or, of a constant, one for each of its channels
  /// Of the channels. Empty: whichever the operation keeps that the constant is a factor of.
  std::optional<std::int64_t> axis;

  friend bool operator==(const PrescribedEncoding&, const PrescribedEncoding&) = default;
};

/// By the name of the value.
using PrescribedEncodings = std::map<std::string, PrescribedEncoding, std::less<>>;

}  // namespace quadrant::inline v0
