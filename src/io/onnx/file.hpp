// Files that tensors are read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/onnx/wire.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0::onnx {

/// A regular file of known size. Reading does not move a position, so threads may share it.
class File {
 public:
  /// With `keep_open`, the contents stay reachable when another file takes over the path: writing a
  /// model over the one that it was read from depends on it. Otherwise the file is opened for each
  /// read: a model may name more data files than a process may open. Throws an `io` Failure.
  /// `files` hears of it, and may be null.
  File(std::string path, bool keep_open, FileTransaction* files);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Throws an `io` Failure.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same where it lies; empty where that cannot be had, or the file is not kept open.
  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset, std::size_t size) const;

 private:
  friend class Mapping;
  std::string path_;
  std::uint64_t size_ = 0;
  std::optional<InputFile> open_;
};

/// A file's bytes in memory while its structure is read. Pages are loaded one by one, where they
/// are touched: payloads lie between the headers and stay on disk. The file must be kept open.
class Mapping {
 public:
  explicit Mapping(const File& file);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  [[nodiscard]] std::string_view bytes() const noexcept { return {data_, size_}; }
  /// Gives the pages inside `range` back; touching them again loads them again.
  void forget(Range range) const noexcept;

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The bytes of `ranges`, one after another.
[[nodiscard]] std::shared_ptr<const ConstantSource> file_ranges(std::shared_ptr<const File> file,
                                                                std::vector<Range> ranges);

/// Bytes to be written again as they came.
[[nodiscard]] Opaque carried(const std::shared_ptr<const File>& file, std::vector<Range> ranges,
                             std::string_view format);

/// All bytes of an Opaque: for the small ones, which are looked into once more when writing.
[[nodiscard]] std::string contents(const Opaque& opaque);

}  // namespace quadrant::inline v0::onnx
