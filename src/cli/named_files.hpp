// The files that the options of a call name: what it writes is none that it reads.
#pragma once

#include <string>

#include "quadrant/support/expected.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace quadrant::cli {

/// That each file which the call writes can be put in its place, and is none that it reads or
/// writes by another option. `over_model`: --output may be the model.
[[nodiscard]] Expected<void> check_files(const CLI::App& command, const std::string& model,
                                         bool over_model);
/// The same for the profile `hardware`, a name or a file, that `recipe` names: known once it is
/// read.
[[nodiscard]] Expected<void> check_hardware_is_kept(const CLI::App& command,
                                                    const std::string& hardware,
                                                    const std::string& recipe);

}  // namespace quadrant::cli
