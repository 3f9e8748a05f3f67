// What batch normalizations knew of the values that they made.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quadrant::inline v0 {

/// Mean and standard deviation of each channel of a value, in the value's own unit. A batch
/// normalization makes them: beta and |gamma|, if the data are those it was trained with.
struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> deviation;  ///< of as many channels, not negative
  friend bool operator==(const ChannelMoments&, const ChannelMoments&) = default;
};

/// By the name of the value. The transformations that move values keep it up to date.
using MomentsTable = std::map<std::string, ChannelMoments, std::less<>>;

}  // namespace quadrant::inline v0
