// The .bin file: where the contents of constants lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/constant.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0::openvino_ir {

/// A .bin file, or bytes in memory. Lives as long as the constants that read it.
class Bin {
 public:
  /// Of the model at `xml`. Without a file there are no bytes.
  Bin(const std::string& xml, const OpenVinoReadOptions& options);
  explicit Bin(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}

  [[nodiscard]] std::uint64_t size() const noexcept {
    return file_ ? file_->size() : bytes_.size();
  }
  /// A file that is not there: read_openvino allows it for models without constants.
  [[nodiscard]] bool is_missing() const noexcept { return !path_.empty() && !file_; }
  /// What stands for it in messages.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same where it lies; empty where that cannot be had.
  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset, std::size_t size) const;

 private:
  std::string path_;
  std::unique_ptr<InputFile> file_;
  std::vector<std::byte> bytes_;
};

/// The constant at `offset`, of `size` bytes. `invalid` where this is not what the shape takes, or
/// not in the file. `element`: one that the library reads.
[[nodiscard]] Constant constant_in(const std::shared_ptr<const Bin>& bin, ElementType element,
                                   const Shape& shape, std::uint64_t offset, std::uint64_t size);
/// The bytes themselves, as a list of `uint8`.
[[nodiscard]] Constant bytes_in(const std::shared_ptr<const Bin>& bin, std::uint64_t offset,
                                std::uint64_t size);

/// The same numbers as float32, of a float16 constant; read where they are needed.
[[nodiscard]] Constant widened_constant(const Constant& half);

}  // namespace quadrant::inline v0::openvino_ir
