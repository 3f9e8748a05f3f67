#include "cli/hardware.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/model.hpp"
#include "quadrant/recipe/hardware_json.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {

Expected<HardwareProfile> read_hardware(const std::string& name_or_file, FileTransaction& files) {
  if (const HardwareProfile* const known = find_hardware_profile(name_or_file)) return *known;
  std::error_code unknown;
  if (!std::filesystem::exists(name_or_file, unknown) && !unknown) {
    std::vector<std::string_view> names;
    for (const HardwareProfile& profile : hardware_profiles()) names.push_back(profile.name);
    return fail(ErrorCode::usage,
                fmt::format("there is no hardware profile, nor a file, '{}'{}", name_or_file,
                            did_you_mean_or_all(name_or_file, names)));
  }
  QUADRANT_CHECK(files.read(name_or_file));
  QUADRANT_TRY(const std::string text, read_text(name_or_file));
  auto profile = parse_hardware(text);
  if (!profile) profile.error().place.file = name_or_file;
  return profile;
}

}  // namespace quadrant::cli
