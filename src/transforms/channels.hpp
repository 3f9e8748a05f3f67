// Constants of one number for each channel.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Whether `constant` is one number, or one for each of `channels` along `axis` (counted from the
/// end, so below zero), and leaves a tensor of `rank` axes its shape when both broadcast.
[[nodiscard]] bool is_channelwise(const Constant& constant, std::int64_t channels,
                                  std::int64_t axis, std::int64_t rank);

/// One number for each channel of a constant that is channelwise.
[[nodiscard]] Expected<std::vector<double>> read_channels(const Constant& constant,
                                                          std::int64_t channels);

}  // namespace quadrant::inline v0
