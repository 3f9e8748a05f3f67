// Samples from files.
#pragma once

#include <span>
#include <string>

#include "calibration/data_set_inputs.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::data_set {

// Errors name the file and the input.

/// From a .npz, with an array for each input, by name.
[[nodiscard]] Expected<Sample> read_archive(const std::string& path, std::span<const Input> inputs,
                                            const DataSetOptions& options);

/// From one file for each input, in order: .npy, .pb, or else raw.
[[nodiscard]] Expected<Sample> read_files(std::span<const std::string> paths,
                                          std::span<const Input> inputs,
                                          const DataSetOptions& options);

}  // namespace quadrant::inline v0::data_set
