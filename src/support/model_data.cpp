#include "support/model_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& file, const fs::path& folder) {
  return !folder.empty() && std::ranges::mismatch(folder, file).in1 == folder.end();
}

}  // namespace

Expected<void> check_model_data(const std::string& model, const std::string& data) {
  std::error_code error;
  const fs::path real = fs::canonical(data, error);
  if (error) return {};
  const fs::path absolute = fs::absolute(model, error);
  for (const fs::path& holder : {absolute, fs::path(resolved_path(absolute.string()))}) {
    if (is_inside(real, fs::canonical(holder.parent_path(), error))) return {};
  }
  return fail(ErrorCode::invalid_model,
              fmt::format("this data of the model is a symbolic link that leads out of its folder, "
                          "to '{}': put the file itself there",
                          real.string()),
              {.file = data}, Remedy::follow_links);
}

}  // namespace quadrant::inline v0
