// Text that lists samples, one a line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/data_set_inputs.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::data_set {

/// For each line the paths of its inputs, in order of the model's. A line has paths, with spaces
/// between them, in that order, or `INPUT:=PATH` in any order. Lines that are empty or begin with
/// `#` or `%`, by which SNPE's tools name outputs, are left out. `invalid_model` with the line.
[[nodiscard]] Expected<std::vector<std::vector<std::string>>> read_list(
    const std::string& path, std::span<const Input> inputs);

/// A path of the list `list` as it can be opened: relative to the list's folder or, where there is
/// no such file, to the working directory.
[[nodiscard]] std::string listed_path(const std::string& list, const std::string& path);

}  // namespace quadrant::inline v0::data_set
