// The model file that is being read, and the data files beside it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "io/onnx/file.hpp"
#include "quadrant/io/onnx.hpp"

namespace quadrant::inline v0::onnx {

/// Lives while `read_onnx` runs; the files live as long as the constants that read them.
class Source {
 public:
  Source(const std::string& path, const OnnxReadOptions& options);

  [[nodiscard]] const std::shared_ptr<const File>& file() const noexcept { return file_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return mapping_.bytes(); }
  [[nodiscard]] Message message(Range range) const noexcept { return {bytes(), range}; }
  void forget(Range range) const noexcept { mapping_.forget(range); }

  /// The folder of the model, absolute: data files are named relative to it.
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  /// The data file `location`. Refuses what leaves the model's folder: a model from a stranger must
  /// not be able to copy other files of this machine into what is written.
  [[nodiscard]] std::shared_ptr<const File> data_file(std::string_view location);

 private:
  std::shared_ptr<const File> file_;
  Mapping mapping_;
  std::string directory_;
  FileTransaction* files_;
  bool follow_links_;
  std::map<std::string, std::shared_ptr<const File>, std::less<>> data_files_;
};

/// The folder that holds `path`, absolute and without `..` or symbolic links.
[[nodiscard]] std::string directory_of(const std::string& path);

}  // namespace quadrant::inline v0::onnx
