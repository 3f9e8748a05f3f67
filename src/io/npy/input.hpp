// Where the bytes of an array come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::npy {

/// Bytes of known number that are read one after another: of a file, or of a member of an archive.
class Input {
 public:
  explicit Input(std::uint64_t size) noexcept : size_(size) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  virtual ~Input() = default;

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return size_ - position_; }

  /// Fills `out`, which is for `what`; an error where fewer bytes are left.
  [[nodiscard]] Expected<void> read(std::span<std::byte> out, std::string_view what);

 private:
  /// Fills `out`, for which there are bytes.
  [[nodiscard]] virtual Expected<void> fetch(std::uint64_t offset, std::span<std::byte> out) = 0;

  std::uint64_t size_;
  std::uint64_t position_ = 0;
};

/// Damage at a byte of the input.
[[nodiscard]] inline tl::unexpected<Error> damaged(std::string message, std::uint64_t offset) {
  return fail(ErrorCode::invalid_model, std::move(message), {.offset = offset});
}

}  // namespace quadrant::inline v0::npy
