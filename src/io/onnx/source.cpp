#include "io/onnx/source.hpp"

#include <algorithm>
#include <filesystem>

#include "io/onnx/failure.hpp"
#include "support/model_data.hpp"

namespace quadrant::inline v0::onnx {

Source::Source(const std::string& path, const OnnxReadOptions& options)
    : file_(std::make_shared<File>(path, true, options.files)),
      mapping_(*file_),
      directory_(directory_of(path)),
      files_(options.files),
      follow_links_(options.follow_links) {}

std::shared_ptr<const File> Source::data_file(std::string_view location) {
  if (const auto known = data_files_.find(location); known != data_files_.end()) {
    return known->second;
  }
  const std::filesystem::path relative(location);
  const bool leaves = relative.is_absolute() || std::ranges::find(relative, "..") != relative.end();
  if (location.empty() || leaves || location.find('\0') != std::string_view::npos) {
    invalid(fmt::format("its data is in '{}', which is not a path inside the model's folder",
                        location));
  }
  const std::string path = (std::filesystem::path(directory_) / relative).string();
  // A descriptor each would run out where a model has a file per tensor.
  constexpr std::size_t most_kept_open = 64;
  if (!follow_links_) value_of(check_model_data(file_->path(), path));
  auto file = std::make_shared<File>(path, data_files_.size() < most_kept_open, files_);
  data_files_.emplace(location, file);
  return file;
}

std::string directory_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  const auto resolved = std::filesystem::weakly_canonical(folder.empty() ? "." : folder, ignored);
  return (ignored ? folder : resolved).string();
}

}  // namespace quadrant::inline v0::onnx
