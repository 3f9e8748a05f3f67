// Files that a model names as its own.
#pragma once

#include <string>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// That `data`, a path that the model at `model` names, leads into the model's folder. As a
/// symbolic link it may also lead to where the model itself, being a link, leads: caches of hubs
/// keep all files of a model in one folder, and links to them in another. A model from a stranger
/// must not be able to copy other files of this machine into what is written. `invalid_model` where
/// it does not; what is not there is left to those who open it.
[[nodiscard]] Expected<void> check_model_data(const std::string& model, const std::string& data);

}  // namespace quadrant::inline v0
