// Standard streams that a program was started without.
#pragma once

namespace quadrant::cli {

/// Puts nothing in the place of those that are closed. Otherwise the next file that is opened gets
/// the number of one, and messages are written into a model. Writing to standard output still
/// fails.
void hold_closed_streams() noexcept;

}  // namespace quadrant::cli
